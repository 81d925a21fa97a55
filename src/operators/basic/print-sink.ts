import { inspect } from 'node:util'
import { aFunction, text } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { DeliveryGuarantee, Sink, SinkWriter, SinkWriterContext } from '../port/sink.ts'
import { DirectWriter } from './direct-writer.ts'

/** Receives a line of text with its newline. */
export type WriteLine = (line: string) => void

/**
 * A sink that writes a line for each record, to standard output by default: the record, after the prefix and,
 * with several subtasks, the number of the subtask from 1 (`prefix:2> record`).
 */
export class PrintSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee = 'at-least-once'
  private readonly prefix: string
  private readonly writeLine: WriteLine

  constructor(prefix = '', writeLine: WriteLine = (line) => void process.stdout.write(line)) {
    this.prefix = prefix
    checkArgument('new PrintSink', 'prefix', text, prefix)
    checkArgument('new PrintSink', 'writeLine', aFunction(), writeLine)
    this.writeLine = writeLine
  }

  createWriter(): SinkWriter<T> {
    return new PrintWriter(this.prefix, this.writeLine)
  }
}

class PrintWriter extends DirectWriter<unknown> {
  private readonly prefix: string
  private readonly writeLine: WriteLine
  private start = ''

  constructor(prefix: string, writeLine: WriteLine) {
    super()
    this.prefix = prefix
    this.writeLine = writeLine
  }

  override async open(context?: SinkWriterContext): Promise<void> {
    const { subtask = 0, parallelism = 1 } = context ?? {}
    const parts = [this.prefix, parallelism > 1 ? `${subtask + 1}` : ''].filter(
      (part) => part !== '',
    )
    this.start = parts.length === 0 ? '' : `${parts.join(':')}> `
  }

  override write(value: unknown): void {
    this.writeLine(`${this.start}${textOf(value)}\n`)
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return inspect(value, {
    depth: Number.POSITIVE_INFINITY,
    breakLength: Number.POSITIVE_INFINITY,
    compact: true,
  })
}
