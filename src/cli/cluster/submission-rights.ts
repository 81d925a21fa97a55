import { realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { parseStorageUrl } from '../../core/storage-url.ts'
import { parseS3Url, s3HostOf } from '../../files/s3/address.ts'
import { parseWebHdfsUrl } from '../../files/webhdfs/address.ts'
import type { AllowedHosts } from '../../http/access/allowed-hosts.ts'
import { isLoopback } from '../../http/access/listener.ts'
import { configurationKeys, unknownKey } from '../../runtime/configuration/keys.ts'
import { type Reach, reachOf, reachOfKey } from './option-reach.ts'

/** What submissions may reach, decided when the JobManager starts. */
export interface SubmissionRights {
  /** Folders whose modules may run: those of jobs and of models. */
  readonly modules: readonly string[]
  /** Folders below which options may name files. */
  readonly files: readonly string[]
  /** Brokers, NameNodes and servers of S3 that options may name. */
  readonly hosts: AllowedHosts
  /** Address of the JobManager, which jobs may listen on, too. */
  readonly host: string
  /** Flags of the JobManager about who may use its ports; its jobs have the same. */
  readonly listener: Readonly<Record<string, string | boolean>>
}

/** Options and keys whose relative paths, and numbers, are those of checkpoints in the job's storage. */
const IN_STORAGE: ReadonlySet<string> = new Set([
  'restore-from',
  'execution.state-recovery.path',
  'execution.checkpointing.savepoint-dir',
])

type Value = string | boolean | readonly string[]

/** The sentence that a start prints. */
export function rightsText({ modules, files, hosts }: SubmissionRights): string {
  const code = modules.length === 0 ? 'no modules' : `modules in ${modules.join(', ')}`
  return `submissions may run ${code}, name files below ${files.join(', ')}, and call ${hosts}`
}

/**
 * Throws ACCESS_DENIED for an option that reaches more than the JobManager's start allows, UNKNOWN_OPTION and
 * UNSUPPORTED for a key or URL that is none.
 */
export function requireReach(name: string, value: Value, rights: SubmissionRights): void {
  const reach = reachOf(name) ?? 'never'
  for (const one of typeof value === 'object' ? value : [value]) {
    if (reach === 'settings') requireSetting(String(one), rights)
    else if (one !== false) requireOne(`the option "${name}"`, { reach, name, value: one }, rights)
  }
}

/** Whether a path is below one of some folders, also where links lead. */
export function isBelow(path: string, folders: readonly string[]): boolean {
  // What the system makes of `link/..` is not what the text says.
  if (path.split(/[/\\]/).includes('..')) return false
  const real = realPathOf(resolve(path))
  return folders.some((folder) => {
    const root = realPathOf(resolve(folder))
    return real === root || real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)
  })
}

/** Whether a path is relative and stays below the folder that it is read in. */
function isInner(text: string): boolean {
  return !text.includes(':') && !isAbsolute(text) && !text.split(/[/\\]/).includes('..')
}

/** A path without links; of one that does not exist, that of the nearest folder that does. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPathOf(parent), path.slice(parent.length))
  }
}

function requireSetting(text: string, rights: SubmissionRights): void {
  const at = text.indexOf('=')
  const [name, value] = [text.slice(0, at), text.slice(at + 1)]
  const key = configurationKeys().find((known) => known.key === name)
  if (key === undefined) throw unknownKey(name)
  const reach = reachOfKey(name, key.kind)
  if (reach === 'listener' && value === 'false') return
  requireOne(`the key "${name}"`, { reach, name, value }, rights)
}

interface NamedValue {
  readonly reach: Reach
  readonly name: string
  readonly value: string | boolean
}

function requireOne(what: string, given: NamedValue, rights: SubmissionRights): void {
  const refusal = refusalOf(given, rights)
  if (refusal === true) return
  throw new WeirError(
    'ACCESS_DENIED',
    `${what} reaches what this JobManager's start does not allow (${String(given.value).slice(0, 200)}); ${refusal}`,
  )
}

/** True, or the sentence about what would allow a value. */
function refusalOf({ reach, name, value }: NamedValue, rights: SubmissionRights): true | string {
  const text = String(value)
  switch (reach) {
    case 'nothing':
      return true
    case 'code':
      return isBelow(text, rights.modules) || 'start it with --modules FOLDER'
    case 'place':
      return (IN_STORAGE.has(name) && isInner(text)) || placeRefusal(text, rights)
    case 'hosts':
      return hostsRefusal(text.split(','), rights)
    case 'address':
      return isLoopback(text) || text === rights.host || 'start it with this host in --listen'
    case 'listener':
      return (
        rights.listener[name] === value || 'its jobs have the tokens and the TLS of its own start'
      )
    default:
      return 'it is for another process'
  }
}

/** True, or the flag that allows a place. */
function placeRefusal(text: string, rights: SubmissionRights): true | string {
  const place = parseStorageUrl(text)
  if (place.kind === 'hdfs') {
    const { nameNodes, tokenFile } = parseWebHdfsUrl(place.url)
    const names = nameNodes.map(({ host, port }) => `${host}:${port}`)
    const refusal = hostsRefusal(names, rights)
    return refusal !== true || tokenFile === undefined ? refusal : placeRefusal(tokenFile, rights)
  }
  if (place.kind === 's3') return hostsRefusal([s3HostOf(parseS3Url(place.url))], rights)
  return isBelow(place.path, rights.files) || 'start it with --allow-files FOLDER'
}

function hostsRefusal(places: readonly string[], { hosts }: SubmissionRights): true | string {
  const isListed = places.every((place) => {
    const at = place.lastIndexOf(':')
    return hosts.has(place.slice(0, at).trim(), Number(place.slice(at + 1)))
  })
  return isListed || 'start it with --allow-remote HOST:PORT,...'
}
