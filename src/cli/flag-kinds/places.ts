import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { parseFilesUrl, parseStorageUrl } from '../../core/storage-url.ts'
import { nearestOf } from '../../core/text/nearest-word.ts'
import { type FlagKind, kindOf, mustBe, readBy } from './flag-kind.ts'

/** The path of a file of this machine. */
export function path(shown = 'FILE'): FlagKind {
  const takes = 'a path that is not empty'
  return kindOf({ sort: 'path', shown, takes }, isPath)
}

/** A path, or an `hdfs://` URL. */
export function place(shown = 'PLACE'): FlagKind {
  const takes = 'a path or an hdfs:// URL'
  return { sort: 'path', shown, takes, problem: (text) => placeProblem(takes, text) }
}

/** A place of checkpoints: a path, or an `hdfs://` or `s3://` URL. */
export function checkpointPlace(shown = 'PLACE'): FlagKind {
  const takes = 'a path, an hdfs:// URL or an s3:// URL'
  const problem = (text: string) => placeProblem(takes, text, parseStorageUrl)
  return { sort: 'path', shown, takes, problem }
}

/** A file or a folder that a command reads; a local one exists. */
export function input(shown = 'FILE'): FlagKind {
  const takes = 'a file or a folder that exists'
  return {
    sort: 'path',
    shown,
    takes,
    problem: (text) => placeProblem(takes, text),
    problemHere(text) {
      const parsed = parseFilesUrl(text)
      if (parsed.kind === 'hdfs') return undefined
      return exists(parsed.path) ? undefined : `names ${text}, and there is no such file`
    },
  }
}

/** As `input`, or a topic, `topic:films`. */
export function inputOrTopic(shown = 'FILE'): FlagKind {
  const file = input(shown)
  const isTopic = (text: string): boolean => /^topic:[A-Za-z0-9._-]+$/.test(text)
  const orTopic =
    (problemOf: FlagKind['problem']) =>
    (text: string): string | undefined =>
      isTopic(text) ? undefined : problemOf(text)
  return {
    ...file,
    takes: `${file.takes}, or topic:NAME`,
    problem: orTopic(file.problem),
    problemHere: orTopic((text) => file.problemHere?.(text)),
  }
}

/** A file that a command writes: its folder exists and can be written. With "/" at its end a folder, if that is taken. */
export function output({ shown = 'FILE', takesFolder = false } = {}): FlagKind {
  const takes = `a file that can be written${takesFolder ? ', or a folder with "/" at its end' : ''}`
  return {
    sort: 'path',
    shown,
    takes,
    problem: (text) => placeProblem(takes, text),
    problemHere(text) {
      const isFolder = takesFolder && isFolderPlace(text)
      return isFolder || text.startsWith('hdfs://') ? undefined : unwritable(text)
    },
  }
}

/** Whether a place names a folder: it ends with "/", before the settings of an `hdfs://` URL. */
export function isFolderPlace(text: string): boolean {
  return /\/(\?[^/]*)?$/.test(text)
}

function placeProblem(
  takes: string,
  text: string,
  parse: (text: string) => unknown = parseFilesUrl,
): string | undefined {
  if (!isPath(text)) return mustBe(takes, text)
  if (/^(hdfs|s3):\/\//.test(text) && URL.parse(text)?.hostname === '') return mustBe(takes, text)
  try {
    parse(text)
    return undefined
  } catch (error) {
    return `must be ${takes}: ${messageOf(error)}`
  }
}

const isPath = (text: string): boolean => text.trim() !== '' && !text.includes('\0')

/** Unlike existsSync it says that a folder cannot be looked into. */
function exists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    // A file in place of a folder of the path.
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false
    // The command says who may not read it.
    return true
  }
}

/** Why a file cannot be created at a path; undefined where it can. */
function unwritable(file: string): string | undefined {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK)
  } catch (error) {
    return `cannot be written: ${messageOf(error)}`
  }
  const isFolder = statSync(file, { throwIfNoEntry: false })?.isDirectory() === true
  return isFolder ? `names ${file}, which is a folder; name a file` : undefined
}

/** The name or address of a machine, without a port. */
export const host: FlagKind = kindOf(
  { sort: 'address', shown: 'HOST', takes: 'the name or the address of a machine, without a port' },
  isHost,
)

/** Names have letters, digits, "-", "." and "_"; addresses of IPv6 colons, in brackets or not, and a zone. */
function isHost(text: string): boolean {
  if (/^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.])?$/.test(text)) return text.length <= 253
  return /^\[?[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(%[\w.-]+)?\]?$/.test(text)
}

/** `HOST:PORT`, or a port of this machine. */
export const address: FlagKind = addressKind(1)

/** `HOST:PORT` to listen on, or a port of this machine; port 0 is any free one. */
export const addressToOpen: FlagKind = addressKind(0)

function addressKind(least: number): FlagKind {
  const takes = `HOST:PORT, or a port of this machine, from ${least} to 65535`
  return kindOf({ sort: 'address', shown: 'HOST:PORT', takes }, (text) => isAddress(text, least))
}

function isAddress(text: string, least: number): boolean {
  const [, name = '127.0.0.1', digits] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  const number = Number(digits)
  return digits !== undefined && isHost(name) && number >= least && number <= 65_535
}

/** The host and the port of such an address; a host of IPv6 has no brackets any more. */
export function hostAndPort(text: string): { readonly host: string; readonly port: string } {
  const at = text.lastIndexOf(':')
  if (at < 0) return { host: '127.0.0.1', port: text }
  return { host: text.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: text.slice(at + 1) }
}

/** As `hostAndPort`, with the port as a number. */
export function addressOf(text: string): { readonly host: string; readonly port: number } {
  const { host, port } = hostAndPort(text)
  return { host, port: Number(port) }
}

/** `HOST:PORT,...`. */
export const addresses: FlagKind = {
  sort: 'list',
  shown: 'HOST:PORT,...',
  takes: 'HOST:PORT,...',
  problem(text) {
    const wrong = text.split(',').find((part) => !/:/.test(part) || !isAddress(part.trim(), 1))
    if (wrong === undefined) return undefined
    return mustBe('HOST:PORT,...', text, wrong === text ? '' : `: "${wrong}" is no address`)
  },
}

/** Addresses and networks, `10.0.0.7,fd00::/8`. */
export const networks: FlagKind = kindOf(
  {
    sort: 'list',
    shown: 'ADDRESS,...',
    takes: 'addresses or networks, such as 10.0.0.7,10.1.0.0/16',
  },
  (text) => text.split(',').every((part) => NETWORK.test(part)),
)

const NETWORK = /^(\d{1,3}(\.\d{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)(\/\d{1,3})?$/

/** Origins of pages, `https://app.example.com,http://localhost:5173`, or `*`. */
export const origins: FlagKind = kindOf(
  {
    sort: 'list',
    shown: 'ORIGIN,...',
    takes: 'origins without a path, such as https://app.example.com,http://localhost:5173, or "*"',
  },
  (text) => text.split(',').every(isOrigin),
)

/** Whether a text is what a browser sends as `Origin`; extensions and programs with pages have schemes of their own. */
function isOrigin(text: string): boolean {
  if (text === '*' || !/^https?:/i.test(text))
    return /^(\*|[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+)$/.test(text)
  return URL.parse(text)?.origin === text
}

/** The address of a REST interface: `HOST:PORT`, a port of this machine, or an `http://` or `https://` URL. */
export const restAddress: FlagKind = readBy(
  {
    sort: 'address',
    shown: 'HOST:PORT',
    takes: 'HOST:PORT, a port of this machine, or http(s)://HOST:PORT',
  },
  (text) => {
    if (!/^https?:\/\//i.test(text)) return isAddress(text, 1) ? text : undefined
    const url = URL.parse(text)
    return url === null || url.hostname === '' || url.search !== '' ? undefined : text
  },
)

/** A URL of one of the protocols, `http:` or `hdfs:`, with a host and no query. */
export function url(protocols: readonly string[], example: string): FlagKind {
  return kindOf({ sort: 'url', shown: 'URL', takes: example }, (text) => {
    const parsed = URL.parse(text)
    return parsed !== null && protocols.includes(parsed.protocol) && parsed.hostname !== ''
  })
}

/** A job of `words`, or the module of a user's job. */
export function jobOf(words: readonly string[]): FlagKind {
  const takes = `one of ${words.join(', ')}, or the file of a job such as ./my-job.ts`
  const problemOf = (text: string): string => {
    const nearest = nearestOf(text, words)
    const hint = nearest === undefined ? 'there is no such file' : `did you mean "${nearest}"?`
    return mustBe(takes, text, `; ${hint}`)
  }
  return {
    sort: 'word',
    shown: 'JOB',
    takes,
    words,
    problem(text) {
      const isFile = /[./\\]/.test(text) && !text.includes('\0')
      return isFile || words.includes(text) || existsSync(text) ? undefined : problemOf(text)
    },
    problemHere: (text) => (words.includes(text) || existsSync(text) ? undefined : problemOf(text)),
  }
}
