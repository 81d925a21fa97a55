import { messageOf } from '../../core/errors.ts'
import { userPlace } from '../../runtime/protocol/failure-cause.ts'

/** A declaration with `using`, which Node before 24 does not read. */
const USING = /^\s*(?:await\s+)?using\s+\w+\s*=/m

/** The module that failed to load, and the Node that tried. */
export interface LoadedModule {
  /** Its text; empty if it cannot be read. */
  readonly source: string
  /** As `process.versions.node`. */
  readonly nodeVersion: string
}

/**
 * Why a module cannot be loaded, in words: the message, the place of an error of syntax as `FILE:LINE`, the line that
 * threw another one, and the Node that it needs.
 */
export function loadProblem(error: unknown, { source, nodeVersion }: LoadedModule): string {
  const place = syntaxPlace(error) ?? placeOf(error)
  const message = messageOf(error)
  if (isTooNew(error, source, nodeVersion)) {
    return `${message}: \`using\` needs Node 24 or newer, and this is Node ${nodeVersion}; close with try and finally, or update Node`
  }
  return place === undefined ? message : `${message} (${place})`
}

/** The line of the user's code that threw; undefined for an error of the load itself. */
function placeOf(error: unknown): string | undefined {
  const place = error instanceof Error ? userPlace(error.stack) : undefined
  return place === undefined ? undefined : `at ${place}`
}

/** Where an error of syntax is. Node writes `FILE:LINE` before the text of the line and the stack. */
function syntaxPlace(error: unknown): string | undefined {
  if (!(error instanceof SyntaxError)) return undefined
  return /^(?:file:\/\/)?(\/.+:\d+|[A-Z]:\\.+:\d+)\n/.exec(error.stack ?? '')?.[1]
}

function isTooNew(error: unknown, source: string, nodeVersion: string): boolean {
  return error instanceof SyntaxError && Number.parseInt(nodeVersion, 10) < 24 && USING.test(source)
}
