import { Readable } from 'node:stream'
import type { CommandIo } from '../../src/cli/command/command.ts'

/** A command's surroundings in a test: what it prints is kept. */
export function recordedIo(
  options: {
    readonly terminal?: boolean
    readonly interrupted?: Promise<void>
    /** Standard input. @default empty */
    readonly input?: string
    readonly env?: Readonly<Record<string, string>>
  } = {},
): {
  readonly io: CommandIo
  readonly out: string[]
  readonly err: string[]
  readonly rewritten: string[]
} {
  const out: string[] = []
  const err: string[] = []
  const rewritten: string[] = []
  const io: CommandIo = {
    input: Readable.from([Buffer.from(options.input ?? '')]),
    out: (line) => out.push(line),
    drained: () => Promise.resolve(),
    err: (line) => err.push(line),
    rewriteLine: options.terminal === true ? (line) => rewritten.push(line) : undefined,
    style: (_, text) => text,
    interrupted: options.interrupted ?? new Promise(() => {}),
    env: options.env ?? {},
  }
  return { io, out, err, rewritten }
}
