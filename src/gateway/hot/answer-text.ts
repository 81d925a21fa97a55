import type { Clock } from '../../core/clock.ts'
import { STATUS_CODES } from '../../http/builtin.ts'
import { SECURITY_FIELDS } from '../../http/security-headers.ts'
import type { Refusal } from '../http/authorization.ts'
import { PROBLEM_TYPE } from '../http/problem.ts'
import { JSON_LENGTH_HEADER } from '../inference/message.ts'
import { contentTypeOf, type ListType } from '../recommender/listing.ts'

/** Most digits of a length. */
const LENGTH_DIGITS = 10
const HEAD_END = '\r\n\r\n'
const NO_FIELDS: Readonly<Record<string, string>> = {}

/** Whole HTTP answers with a body of JSON. A character of the text is a byte. */
export class AnswerText {
  private readonly clock: Clock
  private readonly keepAliveSeconds: number
  private second = -1
  /** Fields that are the same for all answers of one second. */
  private fields = ''
  private okHead = ''
  private okHeadBytes: Uint8Array = new Uint8Array(0)

  /** `keepAliveMs`: the time for which a connection may be idle. */
  constructor(clock: Clock, keepAliveMs: number) {
    this.clock = clock
    this.keepAliveSeconds = Math.floor(keepAliveMs / 1000)
  }

  /** An answer with status 200; `fields` are further ones of its head. */
  ok(body: string, fields: Readonly<Record<string, string>> = NO_FIELDS): string {
    this.update()
    const bytes = latin1Of(body)
    return `${this.okHead}${bytes.length}\r\n${linesOf(fields)}\r\n${bytes}`
  }

  /** An answer with status 200 that is a list of a type. */
  list(type: ListType, body: string): string {
    this.update()
    const bytes = latin1Of(body)
    return `HTTP/1.1 200 OK\r\nvary: accept\r\ncontent-type: ${contentTypeOf(type)}\r\n${this.fields}content-length: ${bytes.length}${HEAD_END}${bytes}`
  }

  /** An answer with status 200 of JSON and then tensors, as the Open Inference Protocol has it. */
  tensors(json: string, tensors: readonly Uint8Array[]): string {
    this.update()
    const text = latin1Of(json)
    let rest = ''
    for (const { buffer, byteOffset, byteLength } of tensors) {
      rest += Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
    }
    const length = text.length + rest.length
    return `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n${JSON_LENGTH_HEADER}: ${text.length}\r\n${this.fields}content-length: ${length}${HEAD_END}${text}${rest}`
  }

  /** Bytes that `okAround` needs before the body. */
  get headRoom(): number {
    this.update()
    return this.okHeadBytes.length + LENGTH_DIGITS + HEAD_END.length
  }

  /**
   * The bytes of an answer with status 200 whose body is in `bytes[headRoom .. end)`: the head is written
   * before the body.
   */
  okAround(bytes: Uint8Array, headRoom: number, end: number): Uint8Array {
    const rest = `${end - headRoom}${HEAD_END}`
    const restAt = headRoom - rest.length
    for (let i = 0; i < rest.length; i++) bytes[restAt + i] = rest.charCodeAt(i)
    const from = restAt - this.okHeadBytes.length
    bytes.set(this.okHeadBytes, from)
    return bytes.subarray(from, end)
  }

  /** An answer that is a problem. */
  problem({ problem, fields }: Refusal): string {
    this.update()
    const { status } = problem
    const body = JSON.stringify(problem)
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${linesOf(fields)}`
    const type = `content-type: ${PROBLEM_TYPE}\r\n`
    const length = Buffer.byteLength(body)
    return `${head}${type}${this.fields}content-length: ${length}\r\n\r\n${bytesOf(body)}`
  }

  private update(): void {
    const second = Math.floor(this.clock.nowMs() / 1000)
    if (second === this.second) return
    this.second = second
    const date = new Date(second * 1000).toUTCString()
    this.fields = `Date: ${date}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${this.keepAliveSeconds}\r\n${SECURITY_FIELDS}`
    this.okHead = `HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\n${this.fields}content-length: `
    this.okHeadBytes = Buffer.from(this.okHead, 'latin1')
  }
}

function linesOf(fields: Readonly<Record<string, string>>): string {
  let lines = ''
  for (const name in fields) lines += `${name}: ${fields[name]}\r\n`
  return lines
}

/** The same, for a text that mostly is of ASCII. */
function latin1Of(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : bytesOf(text)
}

/** The bytes of a text in UTF-8, a character a byte. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
