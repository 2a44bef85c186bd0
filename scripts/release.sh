#!/bin/sh
# Tags a release. See RELEASE.md.
#
#   scripts/release.sh root v1.2.3       tags the root module on the current commit
#   scripts/release.sh modules v1.2.3    tags the other modules on a commit without replaces
#   scripts/release.sh commands v1.2.3   tags those under cmd/, which require the modules
#
# It never pushes.
set -eu

module=github.com/toolguard-go/toolguard
cd "$(git rev-parse --show-toplevel)"

fail() {
	echo "release: $*" >&2
	exit 1
}

[ $# -eq 2 ] || fail "want: root, modules or commands, and a version such as v1.2.3"
step=$1
version=$2
echo "$version" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$' || fail "$version is no version such as v1.2.3"
[ -z "$(git status --porcelain)" ] || fail "the work tree is not clean"
grep -qF "## $version" CHANGELOG.md || fail "CHANGELOG.md has no section $version"

# released prints the directories of the modules beside the root that are released
# in this step: commands require other modules, which have to be public before.
released() {
	if [ "$step" = commands ]; then
		git ls-files 'cmd/*/go.mod' | sed 's|/go\.mod$||'
	else
		git ls-files '*/go.mod' | sed 's|/go\.mod$||' | grep -Ev '^(bench|examples|cmd)(/|$)' || true
	fi
}

tag_is_free() {
	! git rev-parse -q --verify "refs/tags/$1" >/dev/null || fail "the tag $1 exists"
}

release_root() {
	tag_is_free "$version"
	! grep -q '^replace' go.mod || fail "go.mod has a replace"
	go test work
	git tag -a "$version" -m "$version"
	echo "now: git push origin HEAD $version"
}

release_modules() {
	dirs=$(released)
	[ -n "$dirs" ] || fail "there is no module beside the root to release"
	git rev-parse -q --verify "refs/tags/$version" >/dev/null || fail "release the root first"
	for dir in $dirs; do tag_is_free "$dir/$version"; done
	back=$(git symbolic-ref -q --short HEAD || git rev-parse HEAD)
	trap 'git checkout -q --force "$back"' EXIT
	git checkout -q --detach "$version"
	tags=
	for dir in $dirs; do
		(cd "$dir" && prepare)
		git add -A "$dir"
		tags="$tags $dir/$version"
	done
	git commit -q -m "Release the modules of $version"
	for tag in $tags; do git tag -a "$tag" -m "$tag"; done
	echo "now: git push origin$tags"
}

# prepare makes the module in the current directory stand on its own: it
# requires what is released of the others, and no replace is left.
prepare() {
	for own in $(go mod edit -json | sed -n "s|.*\"Path\": \"\($module[^\"]*\)\".*|\1|p" | sort -u); do
		[ "$own" = "$(GOWORK=off go list -m)" ] || go mod edit -dropreplace="$own" -require="$own@$version"
	done
	! go mod edit -json | grep -q '"Old"' || fail "$PWD/go.mod has another replace"
	GOWORK=off go mod tidy
	GOWORK=off go build ./...
}

case $step in
root) release_root ;;
modules | commands) release_modules ;;
*) fail "$step is none of root, modules and commands" ;;
esac
