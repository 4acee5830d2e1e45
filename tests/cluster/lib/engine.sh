# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The real Grid Engine: a cell of its own, spooled before qmaster starts, then the daemons.

# find_engine: where the engine keeps what we need. Debian puts all programs into one folder
# (its /usr/bin ones are slow wrappers); an engine of ENGINE_ROOT has the upstream layout and is
# seen by the hosts as $STATE/engine.
find_engine() {
	local root=$STATE/engine
	if [ -n "$ENGINE_ROOT" ]; then
		ENGINE_BIN=$root/bin/lx-amd64 ENGINE_UTILBIN=$root/utilbin/lx-amd64
		ENGINE_LIB=$root/lib/lx-amd64 SPOOLDEFAULTS=spooldefaults
		RESOURCES=$ENGINE_ROOT/util/resources
		spoolers=$ENGINE_ROOT/lib/lx-amd64
		return
	fi
	ENGINE_BIN=/usr/lib/gridengine ENGINE_UTILBIN=$ENGINE_BIN ENGINE_LIB=$ENGINE_BIN
	SPOOLDEFAULTS=spooldefaults.bin
	RESOURCES=/usr/share/gridengine/util/resources
	spoolers=$ENGINE_LIB
	local program
	for program in sge_qmaster sge_execd qsub; do
		[ -x "$ENGINE_BIN/$program" ] || "$REPO/packaging/deps.sh" test
	done
}

# find_spooling: Berkeley DB where the engine has it, as the packages do, else classic files
find_spooling() {
	if [ -e "$spoolers/libspoolb.so" ]; then
		SPOOL_METHOD=berkeleydb SPOOL_LIB=libspoolb SPOOL_PARAMS=$STATE/spooldb
	else
		SPOOL_METHOD=classic SPOOL_LIB=libspoolc SPOOL_PARAMS="$STATE/root/default/common;$STATE/qmaster"
	fi
}

# execd_params: always said, because the default differs: on in 8.1.9, off in OCS
execd_params() {
	case $ADDGRP_KILL in
	0) echo ENABLE_ADDGRP_KILL=false ;;
	1) echo ENABLE_ADDGRP_KILL=true ;;
	default) echo none ;;
	esac
}

# write_environment: what `on` gives each command. The ports are the stock ones: every cluster
# has a network of its own.
write_environment() {
	local stock=$ENGINE_BIN:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
	local variables=(SGE_ROOT="$STATE/root" SGE_CELL=default SGE_ARCH=lx-amd64
		SGE_CLUSTER_NAME="$CLUSTER" SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445)
	{
		printf 'ENGINE_ENV=(%s)\n' "${variables[*]@Q}"
		printf 'STOCK_PATH=%q\n' "$stock"
		printf 'SITE_PATH=%q\n' "$SITE/libexec/slurm-on-ocs/bin:$SITE/bin:$stock"
	} >"$STATE/environment"
}

# make_cell: SGE_ROOT and the cell's files
make_cell() {
	local root=$STATE/root folder
	mkdir -p "$root/default/common" "$STATE/qmaster/job_scripts" "$STATE/spooldb"
	for folder in bin lib utilbin util; do
		if [ -n "$ENGINE_ROOT" ]; then
			ln -s "$STATE/engine/$folder" "$root/$folder"
		else
			ln -s "/var/lib/gridengine/$folder" "$root/$folder"
		fi
	done
	echo head >"$root/default/common/act_qmaster"
	render bootstrap SPOOL_METHOD="$SPOOL_METHOD" SPOOL_LIB="$SPOOL_LIB" \
		SPOOL_PARAMS="$SPOOL_PARAMS" >"$root/default/common/bootstrap"
	chown -R "$(admin_id)" "$root/default" "$STATE/qmaster" "$STATE/spooldb"
}

# stock_configuration: the engine's own default. Debian has it as a file, upstream in its installer.
stock_configuration() {
	if [ -z "$ENGINE_ROOT" ]; then
		cat /usr/share/gridengine/default-configuration
		return
	fi
	# shellcheck disable=SC2016  # expanded by the inner shell
	env ECHO=echo SGE_VERSION= AFS=false CFG_EXE_SPOOL=/tmp MAILER=/bin/true XTERM=/usr/bin/xterm \
		CFG_MAIL_ADDR=none CFG_GID_RANGE=20000-20200 QLOGIN_DAEMON=builtin QLOGIN_COMMAND=builtin \
		RLOGIN_DAEMON=builtin RLOGIN_COMMAND=builtin RSH_DAEMON=builtin RSH_COMMAND=builtin \
		sh -c '. "$1/util/install_modules/inst_qmaster.sh"; PrintConf' sh "$ENGINE_ROOT"
}

# global_configuration: the engine's default with the lines of config/global put over it
global_configuration() {
	local stock ours
	stock=$(stock_configuration)
	ours=$(render global EXECD_PARAMS="$(execd_params)")
	awk 'NR == FNR { ours[$1] = $0; next } $1 in ours { print ours[$1]; next } { print }' \
		<(echo "$ours") <(echo "$stock")
}

# write_pes FOLDER: the stock ones; upstream has no smp, so it is made of make
write_pes() {
	cp "$RESOURCES/pe/make" "$1/make"
	if [ -e "$RESOURCES/pe/smp" ]; then
		cp "$RESOURCES/pe/smp" "$1/smp"
	else
		# shellcheck disable=SC2016  # the engine's words
		sed 's/^\(pe_name *\).*/\1smp/; s/^\(allocation_rule *\).*/\1$pe_slots/' "$RESOURCES/pe/make" >"$1/smp"
	fi
}

# gpu_amount: what an execution host says that it has; engines of ENGINE_ROOT know ids (RSMAP)
gpu_amount() {
	if [ -n "$ENGINE_ROOT" ] && [ "$GPUS" -gt 0 ]; then
		echo "$GPUS($(seq -s ' ' 0 $((GPUS - 1))))"
	else
		echo "$GPUS"
	fi
}

# write_objects: the files that spooldefaults and qconf read
write_objects() {
	local folder=$STATE/config host
	mkdir -p "$folder"/{exechosts,adminhosts,submithosts,complexes,pes}
	global_configuration >"$folder/global"
	for host in "${HOSTS[@]}"; do
		echo "hostname $host" | tee "$folder/adminhosts/$host" >"$folder/submithosts/$host"
	done
	for host in "${HOSTS[@]:1}"; do
		render exechost HOST="$host" GPU_AMOUNT="$(gpu_amount)" >"$folder/exechosts/$host"
	done
	cp "$RESOURCES"/centry/* "$folder/complexes/"
	render "gpu${ENGINE_ROOT:+-rsmap}" >"$folder/complexes/gpu"
	write_pes "$folder/pes"
	render scheduler >"$folder/scheduler"
	render hostgroup EXECHOSTS="${HOSTS[*]:1}" >"$folder/hostgroup"
	render queue QUEUE=all.q SEQ_NO="$(sequence_numbers 0)" >"$folder/all.q"
	render queue QUEUE=plain.q SEQ_NO="$(sequence_numbers 1000)" >"$folder/plain.q"
}

# sequence_numbers BASE: the scheduler fills c1, c2, ... in this order, all.q before plain.q
sequence_numbers() {
	local i
	printf '%d' "$1"
	for ((i = 1; i < ${#HOSTS[@]}; i++)); do
		printf ',[c%d=%d]' "$i" $(($1 + i))
	done
}

# spool_offline: far quicker than a qconf call for each object
spool_offline() {
	local folder=$STATE/config
	# shellcheck disable=SC2016  # expanded by the inner shell
	on_stock sgeadmin@head env LD_LIBRARY_PATH="$ENGINE_LIB" sh -ec '
		utilbin=$1 defaults=$2 method=$3 lib=$4 params=$5 folder=$6 resources=$7
		"$utilbin/spoolinit" "$method" "$lib" "$params" init
		spool() { "$utilbin/$defaults" "$@"; }
		spool configuration "$folder/global"
		spool complexes "$folder/complexes"
		spool usersets "$resources/usersets"
		spool managers sgeadmin root
		spool adminhosts "$folder/adminhosts"
		spool submithosts "$folder/submithosts"
		spool exechosts "$folder/exechosts"
		spool pes "$folder/pes"
	' sh "$ENGINE_UTILBIN" "$SPOOLDEFAULTS" "$SPOOL_METHOD" "$SPOOL_LIB" "$SPOOL_PARAMS" "$folder" "$RESOURCES" \
		>"$STATE/spool.log" 2>&1 || die "spooling failed: $(tail -n 5 "$STATE/spool.log")"
}

qmaster_answers() {
	on_stock head timeout 5 qconf -sh >/dev/null 2>&1
}

start_qmaster() {
	on_stock head "$ENGINE_BIN/sge_qmaster" </dev/null >"$STATE/host/head/daemon.log" 2>&1 ||
		die "qmaster did not start: $(<"$STATE/host/head/daemon.log")"
	wait_until 30 qmaster_answers || die "qmaster does not answer"
	configure_qmaster >"$STATE/qconf.log" 2>&1 || die "configuring failed: $(<"$STATE/qconf.log")"
}

# configure_qmaster: what can't be spooled offline. A queue would get no queue instances, a host's
# RSMAP would lose its ids.
configure_qmaster() {
	# shellcheck disable=SC2016  # expanded by the inner shell
	on_stock head sh -ec '
		cd "$1"
		qconf -Msconf scheduler
		qconf -Ahgrp hostgroup
		qconf -Aq all.q
		qconf -Aq plain.q
	' sh "$STATE/config" || return 1
	[ -z "$ENGINE_ROOT" ] ||
		on_stock head qconf -mattr exechost complex_values "slots=$SLOTS,gpu=$(gpu_amount)" "${HOSTS[@]:1}"
}

start_execds() {
	local host
	for host in "${HOSTS[@]:1}"; do
		on_stock "$host" "$ENGINE_BIN/sge_execd" </dev/null >"$STATE/host/$host/daemon.log" 2>&1 &
	done
	wait_all "execds"
	wait_until 60 execds_report ||
		die "not all execution hosts reported: $(on_stock head qhost) $(tail -n 3 "$STATE/qmaster/messages")"
}

# execds_report: every execution host has sent a load value
execds_report() {
	[ "$(on_stock head timeout 10 qhost 2>/dev/null | awk '/^c[0-9]+ / && $4 != "-"' | wc -l)" = $((${#HOSTS[@]} - 1)) ]
}

# stop_execd HOST: it leaves its jobs running and tells qmaster, which forgets its load values
stop_execd() {
	# shellcheck disable=SC2016  # expanded by the inner shell
	on_stock "$1" sh -c '
		pid=$(cat "$1") || exit 0
		kill "$pid" 2>/dev/null || exit 0
		tries=0
		while kill -0 "$pid" 2>/dev/null; do
			tries=$((tries + 1))
			[ "$tries" -lt 200 ] || exit 1
			sleep 0.05
		done
	' sh "$STATE/local/spool/$1/execd.pid"
}

# set_addgrp_kill: for a running cluster. execds hear of a new parameter late, and of a removed
# one never, so they are started anew; jobs that run go on under the new one.
set_addgrp_kill() {
	local host
	global_configuration >"$STATE/config/global"
	on_stock head qconf -Mconf "$STATE/config/global" >/dev/null || die "could not set execd_params"
	for host in "${HOSTS[@]:1}"; do
		stop_execd "$host" &
	done
	wait_all "execds went down; not all"
	start_execds
}
