import { resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Name of the variable with the URL of the folder with the joined modules. */
export const BUILT_MODULES_VARIABLE = 'TEST_BUILT_MODULES'

const SOURCE = pathToFileURL(resolve(import.meta.dirname, '../../../src') + sep).href
/** With TEST_FROM_SOURCE=1 undefined, too: stacks then have the lines of the source. */
const built =
  process.env['TEST_FROM_SOURCE'] === '1' ? undefined : process.env[BUILT_MODULES_VARIABLE]

/** Whether this run has joined the modules of `src`. */
export const HAS_JOINED = built !== undefined

/** The URL of the joined module of a module of `src`; undefined for any other URL, and in a run that has joined none. */
export function joinedUrl(url: string): string | undefined {
  if (built === undefined || !url.startsWith(SOURCE) || !url.endsWith('.ts')) return undefined
  return `${built}${url.slice(SOURCE.length).replace(/\.ts$/, '.js')}`
}

/** Whether a URL is one of a joined module. */
export function isJoined(url: string | undefined): url is string {
  return built !== undefined && url?.startsWith(built) === true
}
