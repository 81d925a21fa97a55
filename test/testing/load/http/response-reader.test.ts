import { describe, expect, it } from 'vitest'
import {
  type HttpResponse,
  ResponseReader,
} from '../../../../src/testing/load/http/response-reader.ts'

/** All answers in a text that comes in pieces of `size` bytes. */
function answersOf(text: string, size = text.length): HttpResponse[] {
  const reader = new ResponseReader()
  const bytes = Buffer.from(text)
  const answers: HttpResponse[] = []
  for (let at = 0; at < bytes.length; at += size) {
    const answer = reader.push(bytes.subarray(at, at + size))
    if (answer !== undefined) answers.push(answer)
  }
  return answers
}

const plain = ({ status, body, keepsAlive }: HttpResponse) => [status, body.toString(), keepsAlive]

const SIZED = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nContent-Length: 5\r\n\r\nhello'
const CHUNKED =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n'

describe('ResponseReader', () => {
  it.each([1, 2, 3, 7, 1000])('reads answers in pieces of %i bytes', (size) => {
    expect(answersOf(SIZED, size).map(plain)).toEqual([[200, 'hello', true]])
    expect(answersOf(CHUNKED, size).map(plain)).toEqual([[200, 'hello', true]])
    const trailers = CHUNKED.replace('0\r\n\r\n', '0\r\nx: y\r\n\r\n')
    expect(answersOf(trailers, size).map(plain)).toEqual([[200, 'hello', true]])
  })

  it('keeps no bytes of an answer that is not complete in the memory that they came in', () => {
    const reader = new ResponseReader()
    const memory = Buffer.from(SIZED)
    const answers = [10, 30, memory.length - 40].map((length, i) => {
      memory.write(SIZED.slice(i === 0 ? 0 : i === 1 ? 10 : 40))
      const answer = reader.push(memory.subarray(0, length))
      memory.fill(0)
      return answer
    })
    expect(plain(answers[2]!)).toEqual([200, 'hello', true])
  })

  it('reads one answer after the other', () => {
    const reader = new ResponseReader()
    for (let i = 0; i < 3; i++) {
      expect(plain(reader.push(Buffer.from(SIZED))!)).toEqual([200, 'hello', true])
      expect(plain(reader.push(Buffer.from(CHUNKED))!)).toEqual([200, 'hello', true])
    }
  })

  it('skips interim answers, and reads answers without a body', () => {
    expect(answersOf(`HTTP/1.1 100 Continue\r\n\r\n${SIZED}`).map(plain)).toEqual([
      [200, 'hello', true],
    ])
    expect(answersOf('HTTP/1.1 204 No Content\r\n\r\n').map(plain)).toEqual([[204, '', true]])
  })

  it('says when the connection ends, and takes a body that ends with it', () => {
    expect(
      answersOf('HTTP/1.1 503 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n').map(plain),
    ).toEqual([[503, '', false]])
    const reader = new ResponseReader()
    expect(reader.push(Buffer.from('HTTP/1.0 200 OK\r\n\r\nall of'))).toBeUndefined()
    expect(reader.push(Buffer.from(' it'))).toBeUndefined()
    expect(plain(reader.end()!)).toEqual([200, 'all of it', false])
  })

  it('takes no answer that is cut off', () => {
    const reader = new ResponseReader()
    reader.push(Buffer.from(SIZED.slice(0, -1)))
    expect(reader.end()).toBeUndefined()
  })

  it('refuses what is not HTTP/1.1', () => {
    const push = (text: string) => () => new ResponseReader().push(Buffer.from(text))
    expect(push('SSH-2.0-OpenSSH\r\n\r\n')).toThrow(/not HTTP\/1.1.*check the URL/)
    expect(push('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n')).toThrow(/chunk/)
    expect(push('x'.repeat(70_000))).toThrow(/no end/)
  })
})
