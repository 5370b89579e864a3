"""Vocabulary of the embedded micro-world: topics -> concepts -> synonyms.

Words of one concept are joined by `/`, concepts by blanks. Every word belongs to one concept, and every noun
and verb is regular and keeps its last consonant single, so that `plural`, `past`, `progressive` and `present`
need no exceptions.
"""

from dataclasses import dataclass

Concept = tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """The concepts of one field of life, by the role they play in a sentence."""

    name: str
    people: tuple[Concept, ...]
    actions: tuple[Concept, ...]
    things: tuple[Concept, ...]
    qualities: tuple[Concept, ...]
    places: tuple[Concept, ...]


def concepts(text: str) -> tuple[Concept, ...]:
    """Return the concepts written in `text`; an underscore stands for a blank inside one wording."""
    return tuple(tuple(word.replace("_", " ") for word in entry.split("/")) for entry in text.split())


TOPICS = tuple(
    Topic(name, *(concepts(roles[role]) for role in ("people", "actions", "things", "qualities", "places")))
    for name, roles in {
        "cooking": {
            "people": "chef/cook baker/confectioner waiter/steward diner/eater grocer/greengrocer",
            "actions": "bake/roast boil/simmer taste/savour serve/dish slice/carve season/flavour",
            "things": "soup/broth/stew cake/pastry sauce/gravy skillet/griddle spoon/ladle "
            "oven/stove/cooker "
            "meal/dinner/supper cheese",
            "qualities": "delicious/tasty spicy/peppery fresh/crisp salty/briny",
            "places": "kitchen/galley restaurant/bistro/eatery bakery canteen/cafeteria",
        },
        "medicine": {
            "people": "doctor/physician/medic nurse/caregiver patient/sufferer surgeon pharmacist/druggist",
            "actions": "cure/heal examine/inspect prescribe inject/administer diagnose/identify "
            "soothe/relieve",
            "things": "medicine/drug/remedy bandage/dressing wound/injury fever vaccine needle/syringe "
            "disease/illness/sickness bone",
            "qualities": "sick/ill/unwell painful/sore infectious/contagious sterile/disinfected",
            "places": "hospital/infirmary clinic ward pharmacy/drugstore",
        },
        "music": {
            "people": "singer/vocalist pianist/keyboardist composer/songwriter drummer/percussionist "
            "conductor/maestro",
            "actions": "perform/play compose rehearse/practise applaud/cheer amplify conduct",
            "things": "song/tune/melody violin/fiddle guitar symphony/sonata drum concert/recital "
            "album/record piano",
            "qualities": "loud/noisy gentle/soft rhythmic/lively melodic/tuneful",
            "places": "theatre/auditorium studio stage/podium nightclub",
        },
        "sport": {
            "people": "player/athlete coach/trainer goalkeeper/goalie referee/umpire runner/sprinter",
            "actions": "kick/boot defend/guard tackle chase/pursue pass catapult/hurl",
            "things": "ball match/contest trophy/cup goal racket/bat medal helmet jersey/shirt",
            "qualities": "fast/quick/rapid strong/muscular/powerful tired/weary/exhausted victorious/winning",
            "places": "stadium/arena pitch/field gymnasium/gym racetrack",
        },
        "transport": {
            "people": "driver/motorist pilot/aviator mechanic passenger/traveller cyclist/biker",
            "actions": "repair/mend/fix park steer/manoeuvre load/stack board crash/wreck",
            "things": "car/automobile truck/lorry plane/airplane/jet bicycle/bike engine/motor "
            "wheel/tyre bus ticket",
            "qualities": "speedy/swift rusty/corroded broken/damaged heavy/bulky",
            "places": "garage/workshop airport/airfield station/depot road/highway/street",
        },
        "farming": {
            "people": "farmer/grower shepherd/herder gardener reaper milkmaid/dairymaid",
            "actions": "plant water gather/collect nourish/fatten fertilize/manure raise/rear",
            "things": "cow lamb horse/pony crop/harvest tractor/plough seed/grain apple hen/chicken",
            "qualities": "ripe/mature green/leafy muddy/boggy fertile/fruitful",
            "places": "farm/ranch barn/shed orchard meadow/pasture",
        },
        "sea": {
            "people": "sailor/seafarer/mariner captain/skipper fisher/angler diver pirate/buccaneer",
            "actions": "rescue/save launch capture/seize haul/tow cross/traverse observe/watch",
            "things": "ship/vessel boat/dinghy net anchor shark whale sail wave/billow",
            "qualities": "wet/soaked stormy/windy deep calm/tranquil/peaceful",
            "places": "harbour/port beach/shore ocean/sea island/isle",
        },
        "school": {
            "people": "teacher/instructor/tutor student/pupil/learner professor/lecturer librarian "
            "principal/headmaster",
            "actions": "explain/clarify memorize/learn grade/mark correct/amend answer discuss/debate",
            "things": "book/volume lesson/class exam/test pencil/crayon essay/composition question/query "
            "dictionary/glossary blackboard/chalkboard",
            "qualities": "clever/smart/intelligent difficult/hard easy/simple curious/inquisitive",
            "places": "school/academy library classroom university/college",
        },
        "justice": {
            "people": "judge/magistrate lawyer/attorney burglar/robber detective/investigator "
            "officer/constable",
            "actions": "arrest/detain accuse/charge plunder/loot convict/condemn investigate/probe "
            "pardon/release",
            "things": "crime/offence clue verdict/ruling weapon/gun jewel/gem document/file "
            "trial/hearing alibi/excuse",
            "qualities": "guilty/culpable innocent/blameless violent/brutal legal/lawful",
            "places": "court/courtroom prison/jail bank alley/lane",
        },
        "trade": {
            "people": "manager/boss merchant/trader customer/client/buyer banker/financier worker/employee",
            "actions": "purchase/acquire export sign hire/employ deliver/dispatch advertise/promote",
            "things": "product/item contract/agreement price/cost company/firm loan coin "
            "invoice/bill parcel/package",
            "qualities": "cheap/inexpensive expensive/costly/pricey profitable/lucrative bankrupt/insolvent",
            "places": "office market/marketplace shop/store warehouse/storehouse",
        },
        "nature": {
            "people": "hunter/trapper ranger/warden hiker/walker explorer/adventurer poacher",
            "actions": "climb/ascend photograph follow/trail frighten/scare protect/preserve "
            "discover/uncover",
            "things": "tree/oak bird/songbird fox bear flower/blossom river/stream "
            "rock/stone/boulder snake/serpent",
            "qualities": "wild/untamed dangerous/risky tall/high beautiful/pretty",
            "places": "forest/woodland mountain/peak valley cave/cavern",
        },
        "science": {
            "people": "astronaut/cosmonaut scientist/researcher engineer/technician "
            "astronomer/stargazer inventor",
            "actions": "measure/gauge design/conceive invent analyse/study operate/handle calibrate",
            "things": "rocket planet/world star telescope robot/android satellite computer experiment",
            "qualities": "bright/shiny/luminous distant/remote/faraway huge/gigantic/enormous small/tiny",
            "places": "laboratory/lab observatory spaceport orbit",
        },
        "home": {
            "people": "carpenter/joiner painter/decorator plumber tenant/lodger neighbour",
            "actions": "paint/varnish clean/wash construct/assemble demolish/destroy polish/shine "
            "decorate/adorn",
            "things": "house/home chair/stool table/desk door/gate window wall roof carpet/rug",
            "qualities": "old/ancient wooden dirty/filthy/grimy tidy/neat",
            "places": "room/chamber cellar/basement attic/loft garden/yard",
        },
        "cinema": {
            "people": "actor/performer director/filmmaker critic/reviewer viewer/spectator writer/author",
            "actions": "portray/depict edit/revise review/criticize narrate/recount remake/refilm "
            "screen/show",
            "things": "film/movie scene/sequence story/plot script/screenplay character/role camera "
            "joke/gag "
            "ending/finale",
            "qualities": "brilliant/superb charming/delightful funny/hilarious gripping/thrilling "
            "dull/boring/tedious awful/terrible/dreadful clumsy/awkward shallow/empty",
            "places": "cinema/multiplex festival premiere/opening backlot",
        },
        "gadgets": {
            "people": "user/owner designer/stylist vendor/seller hacker/coder tester",
            "actions": "download/install upgrade/update connect/link recharge configure/adjust return/refund",
            "things": "phone/handset battery display speaker/loudspeaker keyboard/keypad printer "
            "headphone cable/wire",
            "qualities": "reliable/dependable handy/convenient sturdy/durable elegant/stylish "
            "flimsy/fragile faulty/defective useless/worthless slow/sluggish",
            "places": "showroom hotline/helpdesk website/webpage boutique",
        },
    }.items()
)

# The first half of these topics' qualities praises, the second half blames: the source of sentiment labels.
REVIEWED = ("cinema", "gadgets")
PERSONAL_QUALITIES = concepts(
    "young/youthful elderly/aged happy/cheerful/glad angry/furious brave/courageous "
    "famous/renowned/celebrated "
    "rich/wealthy poor/needy kind/friendly lonely/solitary"
)
MANNERS = concepts(
    "slowly/gradually quickly/swiftly/rapidly quietly/silently carefully/cautiously often/frequently "
    "happily/cheerfully suddenly/abruptly easily/effortlessly"
)
TIMES = concepts(
    "in_the_morning/at_dawn in_the_evening/at_dusk at_night/after_dark at_noon/at_midday "
    "in_spring/in_springtime "
    "in_autumn/in_fall in_winter/in_wintertime on_monday on_friday in_1987 in_2004 yesterday"
)
NUMBERS = concepts("two/2 three/3 four/4 five/5 seven/7 ten/10 twelve/12 twenty/20")
NAMES = concepts("anna peter maria thomas clara henry julia martin sofia oscar laura victor")
PRAISE = concepts(
    "grateful/thankful hopeful/optimistic honest/truthful generous/giving wise/sensible proud fair/just"
)
BLAME = concepts(
    "corrupt/crooked cruel/brutish selfish/greedy foolish/silly hostile/unfriendly ashamed unfair/unjust"
)
FUNCTION_WORDS = concepts(
    ". ? the a an in at on of and with but despite is are was were did does not being by i it to "
    "that what who also called think found really"
)


def plural(noun: str) -> str:
    """Return the plural of a regular noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if _consonant_y(noun) else noun + "s"


def present(verb: str) -> str:
    """Return the third person singular of a regular verb."""
    return plural(verb)


def past(verb: str) -> str:
    """Return the past tense, also the participle, of a regular verb."""
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if _consonant_y(verb) else verb + "ed"


def progressive(verb: str) -> str:
    """Return the -ing form of a regular verb."""
    return (verb[:-1] if verb.endswith("e") else verb) + "ing"


def _consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in "aeiou"
