# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Hosts out of namespaces. Each host has its own network, UTS, mount and PID namespace; the
# bridge between them sits in a network namespace too, so that the machine gets no interface
# and two clusters can use the same addresses.

NET=10.79.0
NETNS=soc.$CLUSTER
USERS=(alice:5001 bob:5002)

address() {
	case $1 in
	head) echo "$NET.1" ;;
	*) echo "$NET.$((10 + ${1#c}))" ;;
	esac
}

# write_accounts: the users of the cluster live in its own passwd and group files, which each
# host mounts over the machine's; homes in its own /home.
write_accounts() {
	local user name id
	cp /etc/passwd /etc/group "$STATE/etc/"
	id -u sgeadmin >/dev/null 2>&1 || add_account sgeadmin 5000 "$STATE"
	for user in "${USERS[@]}"; do
		name=${user%:*} id=${user#*:}
		sed -i "/^$name:/d" "$STATE/etc/passwd" "$STATE/etc/group"
		add_account "$name" "$id" "/home/$name"
		mkdir -m 700 "$STATE/home/$name"
		cp -r /etc/skel/. "$STATE/home/$name/"
		chown -R "$id:$id" "$STATE/home/$name"
	done
}

# add_account NAME ID HOME
add_account() {
	printf '%s:x:%s:%s:%s:%s:/bin/bash\n' "$1" "$2" "$2" "$1" "$3" >>"$STATE/etc/passwd"
	printf '%s:x:%s:\n' "$1" "$2" >>"$STATE/etc/group"
}

write_hosts_file() {
	local host
	echo "127.0.0.1 localhost" >"$STATE/etc/hosts"
	for host in "${HOSTS[@]}"; do
		echo "$(address "$host") $host"
	done >>"$STATE/etc/hosts"
}

make_network() {
	local host
	{
		echo "netns add $NETNS.net"
		printf "netns add $NETNS.%s\n" "${HOSTS[@]}"
	} | ip -batch -
	{
		echo "link add lan type bridge"
		echo "link set lan up"
		for host in "${HOSTS[@]}"; do
			echo "link add to-$host type veth peer name eth0 netns $NETNS.$host"
			echo "link set to-$host master lan up"
		done
	} | ip -n "$NETNS.net" -batch -
	for host in "${HOSTS[@]}"; do
		printf '%s\n' "link set lo up" "addr add $(address "$host")/24 dev eth0" "link set eth0 up" |
			ip -n "$NETNS.$host" -batch -
	done
}

# start_host HOST: its PID 1, and the pid file that `on` reads
start_host() {
	local host=$1 folder=$STATE/host/$1 pid child fields
	mkdir -p "$folder"/{local/tmp,local/spool,tmp}
	chmod 1777 "$folder"/{local/tmp,tmp}
	chown "$(admin_id)" "$folder/local/spool"
	setsid nsenter --net="/run/netns/$NETNS.$host" \
		unshare --uts --mount --pid --fork --mount-proc --kill-child \
		"$CLUSTER_DIR/host-init" "$STATE" "$host" "$ENGINE_ROOT" \
		</dev/null >"$folder/init.log" 2>&1 {LOCK}<&- &
	pid=$!
	wait_until 20 test -e "$folder/ready" || die "host $host did not start: $(<"$folder/init.log")"
	# (no newline at its end, which read calls a failure)
	read -r child _ <"/proc/$pid/task/$pid/children" || [ -n "$child" ]
	read -ra fields <"/proc/$child/stat"
	echo "$child ${fields[21]}" >"$STATE/pid/$host"
}

# admin_id: UID:GID of the engine's administrator inside the cluster
admin_id() {
	# shellcheck disable=SC2034  # find_user sets it
	local uid gid home
	find_user sgeadmin
	echo "$uid:$gid"
}

start_hosts() {
	local host
	mkdir -p "$STATE"/{etc,home,host,pid,local,engine}
	chmod 755 "$STATE"
	write_accounts
	write_hosts_file
	make_network
	for host in "${HOSTS[@]}"; do
		start_host "$host" &
	done
	wait_all "hosts"
}

# wait_all WHAT: waits for all background jobs, fails if one did
wait_all() {
	local job failed=0
	for job in $(jobs -p); do
		wait "$job" || failed=1
	done
	[ $failed = 0 ] || die "not all $1 came up"
}

cluster_namespaces() {
	ip netns list 2>/dev/null | awk -v prefix="$NETNS." 'index($1, prefix) == 1 { print $1 }'
}

namespace_is_empty() {
	[ -z "$(ip netns pids "$1" 2>/dev/null)" ]
}

# stop_hosts: PID 1's death is the death of all that a host runs
stop_hosts() {
	local namespaces namespace pids
	namespaces=$(cluster_namespaces)
	for namespace in $namespaces; do
		pids=$(ip netns pids "$namespace")
		# shellcheck disable=SC2086  # one word each
		[ -z "$pids" ] || kill -9 $pids 2>/dev/null || :
	done
	for namespace in $namespaces; do
		wait_until 10 namespace_is_empty "$namespace" || die "processes of $namespace do not die"
		ip netns del "$namespace"
	done
}
