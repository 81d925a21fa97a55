import type { Clock } from '../../core/clock.ts'
import { STATUS_CODES } from '../../http/builtin.ts'
import type { Refusal } from '../http/authorization.ts'
import { PROBLEM_TYPE } from '../http/problem.ts'

/** Whole HTTP answers with a body of JSON. A character of the text is a byte. */
export class AnswerText {
  private readonly clock: Clock
  private readonly keepAliveSeconds: number
  private second = -1
  /** Fields that are the same for all answers of one second. */
  private fields = ''
  private okHead = ''

  /** `keepAliveMs`: the time for which a connection may be idle. */
  constructor(clock: Clock, keepAliveMs: number) {
    this.clock = clock
    this.keepAliveSeconds = Math.floor(keepAliveMs / 1000)
  }

  /** An answer with status 200. */
  ok(body: string): string {
    this.update()
    const length = Buffer.byteLength(body)
    return `${this.okHead}${length}\r\n\r\n${length === body.length ? body : bytesOf(body)}`
  }

  /** The bytes of an answer with status 200. */
  okBytes(body: Uint8Array): Uint8Array {
    this.update()
    const head = `${this.okHead}${body.length}\r\n\r\n`
    const answer = Buffer.allocUnsafeSlow(head.length + body.length)
    answer.write(head, 'latin1')
    answer.set(body, head.length)
    return answer
  }

  /** An answer that is a problem. */
  problem({ problem, fields }: Refusal): string {
    this.update()
    const { status } = problem
    const body = JSON.stringify(problem)
    const own = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${own.join('')}`
    const type = `content-type: ${PROBLEM_TYPE}\r\n`
    const length = Buffer.byteLength(body)
    return `${head}${type}${this.fields}content-length: ${length}\r\n\r\n${bytesOf(body)}`
  }

  private update(): void {
    const second = Math.floor(this.clock.nowMs() / 1000)
    if (second === this.second) return
    this.second = second
    const date = new Date(second * 1000).toUTCString()
    this.fields = `Date: ${date}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${this.keepAliveSeconds}\r\n`
    this.okHead = `HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\n${this.fields}content-length: `
  }
}

/** The bytes of a text in UTF-8, a character a byte. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
