import { spawnSync } from 'node:child_process'

/** The commit that `--changed` names does not exist, or there is no repository. */
export class UnknownCommitError extends Error {}

/**
 * The files that differ from a commit, with those that it does not have: committed since, in the working tree, or
 * not yet added. Throws `UnknownCommitError`.
 */
export function changedFiles(root: string, commit: string): readonly string[] {
  const known = git(root, 'rev-parse', '--verify', '--end-of-options', `${commit}^{commit}`)
  if (known === undefined) {
    throw new UnknownCommitError(`--changed ${commit}: git knows no such commit`)
  }
  const differing = pathsOf(
    git(root, 'diff', '--name-only', '--relative', '--no-renames', '-z', known.trim()),
  )
  const added = pathsOf(git(root, 'ls-files', '--others', '--exclude-standard', '-z'))
  return [...new Set([...differing, ...added])].sort()
}

/** The files of the working tree that git does not ignore, those not yet added included. */
export function filesOfRepository(root: string): readonly string[] {
  const all = git(root, 'ls-files', '--cached', '--others', '--exclude-standard', '-z')
  return [...new Set(pathsOf(all))].sort()
}

/** What git prints; undefined where it fails. */
function git(root: string, ...words: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', words, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  return status === 0 ? stdout : undefined
}

function pathsOf(list: string | undefined): readonly string[] {
  return (list ?? '').split('\0').filter((path) => path !== '')
}
