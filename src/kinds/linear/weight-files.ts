import { filesAt } from '../../connectors/file/list.ts'
import { WeirError } from '../../core/errors.ts'
import { BIAS_FEATURE } from '../../core/feature.ts'
import { DEFAULT_RANGE, parseTextWeights } from '../../models/linear/weight-row.ts'
import { type PublishableRow, publishModel } from '../../models/publish/model.ts'
import { parsedLines } from '../../models/publish/row-files.ts'
import { SVM_MODEL } from '../../models/topic/linear-serving-function.ts'
import type { PublishLinearOptions } from './publish.ts'

/** Weights of a linear model in files, read into blocks. */
export interface WeightFiles {
  /** Features of a block. */
  readonly range: number
  /** One above the highest feature that has a weight; the constant feature does not count. */
  readonly features: number
  /** Number of lines' weights. */
  readonly weights: number
  readonly hasIntercept: boolean
  /** By number, the blocks that have a weight; each [range]. */
  readonly blocks: ReadonlyMap<number, Float32Array>
}

/** Options of `readWeightFiles`. */
export interface ReadWeightsOptions {
  /** Features of a block. @default 1024 */
  readonly range?: number
  /** Called from time to time with the share of the bytes that is read, and the number of weights. */
  readonly onProgress?: (done: number, bytes: number, weights: number) => void
}

/**
 * Reads text weights (`parseTextWeights`) of files and folders at paths or `hdfs://` URLs, in any order; the last
 * weight of a feature counts. Memory: the blocks that have a weight. Throws FILE_NOT_FOUND, EMPTY_DATASET, and
 * UNPARSABLE_RECORD with the file and the line.
 */
export async function readWeightFiles(
  places: readonly string[],
  { range = DEFAULT_RANGE, onProgress }: ReadWeightsOptions = {},
): Promise<WeightFiles> {
  const files = (await Promise.all(places.map(filesAt))).flat()
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const blocks = new Map<number, Float32Array>()
  let [features, count, hasIntercept] = [0, 0, false]
  const onBytes = (done: number): void => onProgress?.(done, bytes, count)
  for await (const list of parsedLines(files, weightsOfLine, onBytes)) {
    for (const [i, feature] of list.features.entries()) {
      const block = Math.floor(feature / range)
      let weights = blocks.get(block)
      if (weights === undefined) {
        weights = new Float32Array(range)
        blocks.set(block, weights)
      }
      weights[feature - block * range] = list.weights[i] as number
      if (feature === BIAS_FEATURE) hasIntercept = true
      else features = Math.max(features, feature + 1)
      count += 1
    }
  }
  if (count === 0) throw new WeirError('EMPTY_DATASET', `${places.join(', ')} has no weights`)
  return { range, features, weights: count, hasIntercept, blocks }
}

function weightsOfLine(line: string, number: number): ReturnType<typeof parseTextWeights> {
  try {
    return parseTextWeights(line)
  } catch (cause) {
    throw new WeirError('UNPARSABLE_RECORD', `line ${number}: ${(cause as Error).message}`, {
      cause,
      details: { line: number },
    })
  }
}

/** Publishes the weights of files as a version of a linear model; returns its number. */
export function publishWeightFiles(
  files: WeightFiles,
  options: Omit<PublishLinearOptions, 'range'>,
): Promise<number> {
  const { range, features, hasIntercept } = files
  const { hyperparameters, metrics = {}, ...publish } = options
  const blocks = [...files.blocks].sort(([a], [b]) => a - b)
  function* rows(): Generator<PublishableRow> {
    for (const [block, vector] of blocks) yield { id: String(block), kind: 'W', vector }
  }
  return publishModel(
    { dimension: range, users: 0, items: blocks.length, rows },
    {
      ...publish,
      facts: {
        ...{ name: SVM_MODEL, biased: hasIntercept, globalMean: 0, metrics },
        hyperparameters: { features, ...hyperparameters },
      },
    },
  )
}
