import type { ClientRequest } from 'node:http'
import { WeirError } from '../../core/errors.ts'
import { errorOfFailure, refusalOf, WebHdfsAttemptError } from './failure.ts'
import { abortSilent, type HttpAnswer, noAnswer, readAnswer } from './http-exchange.ts'
import type { WebHdfsTransport } from './transport.ts'

/**
 * A file that streams to a DataNode. Written bytes are not kept, so nothing can be sent twice: a
 * failure is final, and the file must be written again under another name.
 */
export class WebHdfsUpload {
  /** Absolute path of the file. */
  readonly path: string
  private readonly outgoing: ClientRequest
  private readonly timeoutMs: number
  private readonly answer: Promise<HttpAnswer>
  private failure: WeirError | undefined
  private sentBytes = 0

  /** `outgoing` is connected. */
  constructor(path: string, outgoing: ClientRequest, transport: WebHdfsTransport) {
    const { agent, timeoutMs } = transport
    this.path = path
    this.outgoing = outgoing
    this.timeoutMs = timeoutMs
    this.answer = this.awaitAnswer()
    this.answer.catch(() => undefined)
    outgoing.on('timeout', () => abortSilent(outgoing, agent, timeoutMs))
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.sentBytes
  }

  /** Sends a piece, which must not change until this resolves: then the connection can take more. */
  async write(piece: Uint8Array): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    this.sentBytes += piece.length
    if (this.outgoing.write(piece)) return
    // Silence is an error only while the writer waits for the DataNode.
    this.outgoing.setTimeout(this.timeoutMs)
    const drained = new Promise<void>((resolve) => this.outgoing.once('drain', resolve))
    await Promise.race([drained, this.answer])
    this.outgoing.setTimeout(0)
    if (this.failure !== undefined) throw this.failure
  }

  /** Ends the file; resolves when the DataNode has stored it. */
  async finish(): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    this.outgoing.setTimeout(this.timeoutMs)
    this.outgoing.end()
    await this.answer
  }

  /** Closes the connection. A part of the file stays under its name until it is deleted. */
  abort(): void {
    this.failure ??= new WeirError('ILLEGAL_STATE', `the upload of ${this.path} was aborted`)
    this.outgoing.destroy()
  }

  private async awaitAnswer(): Promise<HttpAnswer> {
    try {
      const answer = await new Promise<HttpAnswer>((resolve, reject) => {
        const lost = (): void => reject(new Error('the connection was closed'))
        this.outgoing.once('error', reject)
        this.outgoing.once('close', lost)
        this.outgoing.once('response', (incoming) => {
          // From here on, `readAnswer` detects an incomplete answer.
          this.outgoing.off('close', lost)
          readAnswer(incoming).then(resolve, reject)
        })
      })
      if (answer.status === 201) return answer
      throw new WebHdfsAttemptError(refusalOf('data-node', answer))
    } catch (error) {
      const attempt =
        error instanceof WebHdfsAttemptError ? error : noAnswer('data-node', this.outgoing, error)
      this.failure ??= errorOfFailure(attempt.failure, {
        what: `write ${this.path}`,
        place: this.path,
        attempts: 1,
      })
      throw this.failure
    }
  }
}
