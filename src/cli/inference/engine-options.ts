import { isBag } from '../../core/options/kinds.ts'
import { isLoopback } from '../../http/access/listener.ts'
import type { InferenceEngineOptions } from '../../inference/engine/engine.ts'
import { SettingReader } from '../../inference/repository/setting-reader.ts'
import { readYaml } from '../../inference/repository/yaml-file.ts'
import { parseSize } from '../../runtime/configuration/values.ts'
import { type CommandIo, type Flags, UsageError } from '../command/command.ts'
import { secretFileWarning } from '../command/secret-files.ts'
import { textOfFile } from '../command/text-file.ts'

/** Where the keys come from, and what is said of them. */
interface KeyPlaces {
  readonly env: CommandIo['env']
  /** Takes what is wrong with the rights of a file that has a key. */
  readonly warn: (warning: string) => void
}

/** Options of the engine from `--memory` and `--remote-keys`. Throws UsageError, MALFORMED_DATA. */
export function engineOptionsOf(
  flags: Flags,
  { env, err }: Pick<CommandIo, 'env' | 'err'>,
): InferenceEngineOptions {
  const memory = flags.optional('memory')
  const keys = flags.optional('remote-keys')
  const warn = (warning: string): void => {
    if (flags.boolean('strict-secrets')) throw new UsageError(warning)
    err(`warning: ${warning}`)
  }
  return {
    ...(memory === undefined ? {} : { memoryBytes: parseSize(memory) }),
    ...(keys === undefined ? {} : { remoteKeys: remoteKeysOf(keys, { env, warn }) }),
  }
}

/**
 * Keys of model servers by the origin of each. The file says where each key is, `ORIGIN: { env: NAME }` or
 * `ORIGIN: { file: PATH }`, and has none itself.
 */
function remoteKeysOf(path: string, places: KeyPlaces): Readonly<Record<string, string>> {
  const { value, lineOf } = readYaml(textOfFile('--remote-keys', path), path)
  const reader = new SettingReader(path, lineOf)
  const keys = Object.entries(reader.map(value, 'the file')).map(([server, fields]) => [
    originOf(reader, server),
    keyOf(reader, server, { fields, ...places }),
  ])
  return Object.fromEntries(keys)
}

function originOf(reader: SettingReader, server: string): string {
  const url = URL.parse(server)
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href
  if (!isOrigin)
    throw new UsageError(`${reader.place(server)}: "${server}" is no https://HOST:PORT`)
  if (url.protocol === 'https:' || isLoopback(url.hostname)) return url.origin
  const message = `${reader.place(server)}: a key for ${server} could be read on its way; use https://, or a proxy with TLS on this machine`
  throw new UsageError(message)
}

/** The key of a server. No message has a part of it, also where it stands in the wrong place. */
function keyOf(
  reader: SettingReader,
  server: string,
  { fields, env, warn }: KeyPlaces & { readonly fields: unknown },
): string {
  const wrong = (what: string): UsageError => new UsageError(`${reader.place(server)}: ${what}`)
  const [entry, ...others] = isBag(fields) ? Object.entries(fields) : []
  const [from, where] = entry ?? []
  const isPlace = (from === 'env' || from === 'file') && typeof where === 'string'
  if (!isPlace || others.length > 0) {
    throw wrong(`${server} takes { env: NAME } or { file: PATH }, which say where the key is`)
  }
  if (from === 'env' && !/^\w+$/.test(where)) {
    throw wrong(`env of ${server} is no name of an environment variable`)
  }
  if (from === 'file') secretFileWarning(`the key of ${server}`, where).forEach(warn)
  const text = from === 'env' ? env[where] : textOfFile('--remote-keys', where)
  const key = text?.replace(/\r?\n$/, '') ?? ''
  if (/^[\x21-\x7e]+$/.test(key)) return key
  const what = from === 'env' ? `the environment variable ${where}` : where
  throw wrong(`${what} has ${key === '' ? 'no key' : 'something else than one key'} for ${server}`)
}
