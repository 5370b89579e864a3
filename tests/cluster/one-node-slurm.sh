#!/usr/bin/env bash
# A real Slurm of one node, two CPUs and a pretended GPU, all of whose files lie in one folder. Needs root, and Debian's
# slurm-wlm and munge, which it installs where they are missing. Tried with Debian 12 and its Slurm 22.05.
#   one-node-slurm.sh start DIR     installs, configures and starts; returns when the node is idle
#   one-node-slurm.sh restart DIR   stops the controller and starts it again; jobs go on
#   one-node-slurm.sh stop DIR      cancels all jobs and stops what it started, by the process ids kept in DIR
# /etc/slurm/slurm.conf is a link to DIR/slurm.conf while it runs, since jobs lose SLURM_CONF; where there is one already,
# nothing is started, unless a cluster of this script left it that was killed. There is no accounting database: ask squeue,
# not sacct.
set -euo pipefail
action=${1:?start, restart or stop} dir=$(realpath -m "${2:?folder}")
export SLURM_CONF=$dir/slurm.conf
host=$(hostname)

end() { # end NAME: the process whose number is in DIR/NAME.pid, and wait for its end
  [ -s "$dir/$1.pid" ] || return 0
  local process
  process=$(cat "$dir/$1.pid")
  [ "$(cat "/proc/$process/comm" 2>/dev/null)" = "$1" ] || return 0
  kill "$process"
  for _ in $(seq 100); do kill -0 "$process" 2>/dev/null || return 0; sleep 0.1; done
  kill -KILL "$process"
}

idle() {
  for _ in $(seq 30); do
    sinfo --noheader --format %t 2>/dev/null | grep -q "$1" && return 0
    sleep 1
  done
  echo "the node did not become $1; see $dir/slurmctld.log" >&2
  return 1
}

case $action in
start)
  [ "$(id -u)" = 0 ] || { echo "a cluster needs root" >&2; exit 3; }
  if ! command -v slurmctld slurmd munged >/dev/null; then
    command -v apt-get >/dev/null || { echo "slurm-wlm and munge are missing, and so is apt-get" >&2; exit 3; }
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge; } \
      >/dev/null 2>&1 || { echo "slurm-wlm and munge are missing and could not be installed" >&2; exit 3; }
  fi
  if [ -L /etc/slurm/slurm.conf ] && ! pgrep -x slurmctld >/dev/null && grep -qs '^ClusterName=test$' /etc/slurm/slurm.conf; then
    rm /etc/slurm/slurm.conf
  fi
  [ ! -e /etc/slurm/slurm.conf ] || { echo "/etc/slurm/slurm.conf is there: this machine has a cluster" >&2; exit 3; }
  mkdir -p "$dir/state" "$dir/spool" /etc/slurm
  ln -sf "$SLURM_CONF" /etc/slurm/slurm.conf
  cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill
JobAcctGatherFrequency=1
KillWait=2
Epilog=$dir/epilog
MinJobAge=3600
ReturnToService=2
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=16000 Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=ALL MaxTime=INFINITE State=UP
END
  echo "NodeName=$host Name=gpu File=/dev/null" >"$dir/gres.conf"
  # What control groups do, which are not here: of a job that has ended nothing lives on, also no orphan.
  cat >"$dir/epilog" <<'END'
#!/bin/sh
for place in $(grep -lsz "^SLURM_JOB_ID=$SLURM_JOB_ID$" /proc/[0-9]*/environ); do
  process=${place%/environ} process=${process#/proc/}
  [ "$process" = $$ ] || kill -KILL "$process" 2>/dev/null
done
exit 0
END
  chmod +x "$dir/epilog"
  [ -f "$dir/munge.key" ] || (umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
  munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munged.seed"
  slurmctld
  slurmd
  idle '^idle$' ;;
restart)
  end slurmctld
  slurmctld
  idle '^\(idle\|mix\|alloc\)$' ;;
stop)
  if [ -s "$dir/slurmctld.pid" ]; then
    for partition in cpu gpu; do scancel --partition="$partition" || true; done
    for _ in $(seq 30); do
      squeue --noheader --states=R,CG 2>/dev/null | grep -q . || break
      sleep 1
    done
  fi
  for name in slurmd slurmctld munged; do end "$name"; done
  [ "$(readlink /etc/slurm/slurm.conf)" != "$SLURM_CONF" ] || rm /etc/slurm/slurm.conf ;;
*)
  echo "start, restart or stop, not '$action'" >&2
  exit 2 ;;
esac
