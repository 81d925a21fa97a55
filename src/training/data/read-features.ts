import { checkArgument } from '../../core/options/shape.ts'
import { type FeatureTable, featureTable } from './feature-table.ts'
import { bytesOf, type FileBytes } from './file-bytes.ts'
import { FILE_BYTES } from './kinds.ts'

/**
 * Reads a file of features of users or of items (`featureTable`). Throws UNPARSABLE_RECORD with the line, EMPTY_DATASET, and
 * errors of the file system.
 */
export async function readFeatures(file: FileBytes): Promise<FeatureTable> {
  checkArgument('readFeatures', 'file', FILE_BYTES, file)
  const decoder = new TextDecoder('utf-8')
  let text = ''
  for await (const piece of bytesOf(file)) text += decoder.decode(piece, { stream: true })
  return featureTable((text + decoder.decode()).split(/\r?\n/))
}
