import { fileURLToPath } from 'node:url'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'

/** Folder of Weir's own code, as frames of a stack name it. */
const OWN_CODE = new URL('../..', import.meta.url).href
/** A line of a stack: `at name (file:///path:line:column)`, the name and its brackets where there is one. */
const FRAME =
  /^ *at (?:(?<name>.+?) \()?(?<file>(?:file:\/\/)?\/.+?|[a-z]:[\\/].+?):(?<line>\d+):(?<column>\d+)\)?$/i
/** Most causes of a chain that are named. */
const MOST_CAUSES = 5

/**
 * The innermost call in code of the user, `name, path:line:column`; undefined where the stack has none. Types are
 * stripped in place, so the lines are those of the TypeScript file.
 */
export function userPlace(stack: string | undefined): string | undefined {
  const frames = (stack ?? '').split('\n').map((line) => FRAME.exec(line)?.groups)
  const ofUsers = frames.filter((frame) => frame !== undefined && !isOwn(frame['file']!))
  const frame = ofUsers.find((one) => !one!['file']!.includes('/node_modules/')) ?? ofUsers[0]
  if (frame === undefined) return undefined
  const { file = '', line, column } = frame
  const name = functionName(frame['name'])
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const place = `${path}:${line}:${column}`
  return name === undefined ? place : `${name}, ${place}`
}

/**
 * An error that code of the user threw while it made a job: with the line in its message, and the causes, which errors of
 * Weir's name themselves.
 */
export function placedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const place = userPlace(error.stack)
  if (place === undefined || place.includes('/node_modules/')) return error
  if (isWeirError(error)) {
    const { code, message, details } = error
    return new WeirError(code, `${message} (at ${place})`, { cause: error, details })
  }
  const causes = causesOf(error).filter((cause) => !error.message.includes(cause))
  const why = [`at ${place}`, ...causes.map((cause) => `caused by ${cause}`)].join('; ')
  return new Error(`${error.name}: ${error.message} (${why})`, { cause: error })
}

/** The messages of the errors that caused an error, outermost first, each with its code where it has one. */
export function causesOf(error: unknown): readonly string[] {
  const found: string[] = []
  for (let cause = causeOf(error); cause !== undefined; cause = causeOf(cause)) {
    if (found.length === MOST_CAUSES) break
    found.push(withCode(cause))
  }
  return found
}

/** A function that an object of Weir holds is `Object.name [as method]` on a stack. */
function functionName(name: string | undefined): string | undefined {
  if (name === undefined || !name.includes(' [as ')) return name
  return name.replace(/ \[as .*$/, '').replace(/^.*\./, '')
}

function isOwn(file: string): boolean {
  return (
    file.startsWith('node:') ||
    file.startsWith(OWN_CODE) ||
    file.startsWith(fileURLToPath(OWN_CODE))
  )
}

function causeOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.message === '') return error.errors[0]
  return error instanceof Error ? error.cause : undefined
}

/** An error that several attempts of a call failed with, such as one for each address of a host, has no message. */
function withCode(cause: unknown): string {
  const message = messageOf(cause)
  const code = isWeirError(cause) ? cause.code : (cause as { readonly code?: unknown } | null)?.code
  if (typeof code !== 'string' || message.includes(code)) return message
  return message === '' ? code : `${code}: ${message}`
}
