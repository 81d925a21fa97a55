import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { replaceFileSync } from '../../files/durable-files.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { requireModelName } from './name.ts'
import { ALIASES_FILE, readAliases } from './scan.ts'

/** An alias of a model, and the version that it stands for; undefined removes it. */
export interface AliasChange {
  readonly root: string
  readonly name: string
  readonly alias: string
  readonly version: number | undefined
}

/** Sets or removes an alias. Returns all aliases of the model. Throws UNKNOWN_MODEL, UNKNOWN_VERSION. */
export function changeAlias(
  files: FileSystem,
  { root, name, alias, version }: AliasChange,
): Readonly<Record<string, number>> {
  requireModelName(name)
  requireModelName(alias, 'an alias')
  const folder = join(root, name)
  if (files.statSync(folder)?.isFolder !== true) {
    throw new WeirError('UNKNOWN_MODEL', `the repository ${root} has no model "${name}"`)
  }
  if (version !== undefined && files.statSync(join(folder, String(version))) === undefined) {
    throw new WeirError('UNKNOWN_VERSION', `model "${name}" has no version ${version} in ${root}`)
  }
  const { [alias]: _, ...others } = readAliases(files, folder)
  const aliases = version === undefined ? others : { ...others, [alias]: version }
  const text = `${JSON.stringify(aliases, undefined, 2)}\n`
  replaceFileSync(files, join(folder, ALIASES_FILE), new TextEncoder().encode(text))
  return aliases
}
