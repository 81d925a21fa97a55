import type { FileDigest } from '../../files/file-digest.ts'

/** Identity of one immutable version of a model. */
export interface ModelId {
  readonly name: string
  /** Version from 1. */
  readonly version: number
}

/** Text that no other version of any model has. */
export const modelKey = ({ name, version }: ModelId): string => `${version}/${name}`

/**
 * The files of a version as they were at its first load. A worker compares them before each load, so that a
 * version never answers with other content; files that are not given are not compared.
 */
export type PinnedFiles = readonly FileDigest[]

/** Place of a model's weights or code, by kind. Plain data, so that a worker in any process can load it. */
export type ModelSource =
  | {
      readonly kind: 'onnx'
      /** Path of the file. */
      readonly file: string
      readonly files?: PinnedFiles
    }
  | {
      readonly kind: 'function'
      /** Path or URL of a JavaScript or TypeScript module. */
      readonly module: string
      /** Name of the export that is a `FunctionModel`. @default 'default' */
      readonly export?: string
      /** Plain data for `FunctionModel.load`. */
      readonly options?: unknown
      readonly files?: PinnedFiles
    }
  | {
      readonly kind: 'remote'
      /** Base URL of an Open Inference Protocol v2 server, for example `http://host:8000`. */
      readonly url: string
      /** Name of the model there. */
      readonly model: string
      /** What the server speaks: the Open Inference Protocol, or OpenAI's interface. @default 'oip' */
      readonly protocol?: 'oip' | 'openai'
      /** Version there; the server chooses when it is not given. */
      readonly version?: string
      /** Most items of one request. Above 1 it says that requests may share a run, as \`batches: true\` does. */
      readonly maxItems?: number
    }
  | {
      readonly kind: 'pipeline'
      /** Path of the file that describes it. */
      readonly file: string
      readonly files?: PinnedFiles
    }
