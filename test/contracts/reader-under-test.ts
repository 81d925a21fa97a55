import type { ErrorCode } from '../../src/core/errors.ts'
import type { Answer, ModelReader } from '../../src/wire/model-reader.ts'
import type { ModelWorld } from './model-reader-world.ts'

/** A reader under test, with its close function. */
export interface ConnectedReader {
  readonly reader: ModelReader
  close(): Promise<void> | void
}

export const unwrap = <T>(answer: Answer<T>): T => {
  if (answer.ok) return answer.value
  throw answer.error
}

export const codeOf = (answer: Answer<unknown>): ErrorCode | 'ok' =>
  answer.ok ? 'ok' : answer.error.code

export const floats = (bytes: Uint8Array): number[] => [...new Float32Array(bytes.slice().buffer)]

/** Connects a reader to the world that it reads. */
export type ConnectReader = (world: ModelWorld) => Promise<ConnectedReader> | ConnectedReader

/** The reader that a contract tests, and the world that it reads. */
export class ReaderUnderTest {
  world!: ModelWorld
  reader!: ModelReader
  private readonly connect: ConnectReader
  private connected: ConnectedReader | undefined

  constructor(connect: ConnectReader) {
    this.connect = connect
  }

  /** Begins with another world; the one before must be closed. */
  async use(world: ModelWorld): Promise<void> {
    this.world = world
    this.connected = await this.connect(world)
    this.reader = this.connected.reader
  }

  async close(): Promise<void> {
    await this.connected?.close()
    this.world.close()
  }
}
