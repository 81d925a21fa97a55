import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { AnswerEvent } from './watched-answers.ts'

/** Bytes that may wait for a slow client; a client that is further behind is disconnected. */
export const MOST_WAITING_BYTES = 1024 * 1024
/** Time after which a client connects again, ms. */
const RETRY_MS = 1000

/** A response as far as a stream of events uses it. */
export type StreamResponse = Pick<
  ServerResponse,
  'writeHead' | 'write' | 'end' | 'destroy' | 'writableLength'
>

/** A stream of server-sent events to one client. Ids are `<process>-<sequence>`. */
export class EventStream {
  private readonly response: StreamResponse
  private readonly epoch: string

  /** `epoch`: name of the process; a client that returns with the id of another one gets everything. */
  constructor(response: StreamResponse, epoch: string) {
    this.response = response
    this.epoch = epoch
  }

  /** `fields`: of every answer of the port. */
  open(fields: OutgoingHttpHeaders = {}): void {
    this.response.writeHead(200, {
      ...fields,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Reverse proxies pass each event on at once.
      'x-accel-buffering': 'no',
    })
    this.write(`retry: ${RETRY_MS}\n\n`)
  }

  send({ path, status, body, sequence }: AnswerEvent): void {
    const data = `{"path":${JSON.stringify(path)},"status":${status},"body":${body}}`
    this.write(`id: ${this.epoch}-${sequence}\nevent: answer\ndata: ${data}\n\n`)
  }

  /** A comment, so that both sides find out that the connection is lost. */
  heartbeat(): void {
    this.write(':\n\n')
  }

  end(): void {
    this.response.end()
  }

  private write(text: string): void {
    if (this.response.writableLength > MOST_WAITING_BYTES) this.response.destroy()
    else this.response.write(text)
  }
}

/** The sequence in the id of the last event that a client saw; 0 for none or that of another process. */
export function seenSequence(lastEventId: string | undefined, epoch: string): number {
  const [, process, sequence] = /^([0-9a-f]+)-([0-9]{1,15})$/.exec(lastEventId ?? '') ?? []
  return process === epoch ? Number(sequence) : 0
}
