import { filesAt, placeInFolder } from '../../connectors/file/list.ts'
import { readStored } from '../../connectors/file/open-folder.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'

/** Metadata are one line of some hundred characters. */
const MOST_CHARACTERS = 2 ** 20
const PACKAGE = 'org.apache.spark.ml.'
const KINDS: Readonly<Record<string, SparkModelKind>> = {
  'recommendation.ALSModel': 'als',
  'classification.LinearSVCModel': 'svc',
  'classification.LogisticRegressionModel': 'logistic',
}

/** Kinds of models of Spark that are read. */
export type SparkModelKind = 'als' | 'svc' | 'logistic'

/** A folder that `model.save(...)` of Spark's MLlib wrote. */
export interface SparkModelFolder {
  readonly kind: SparkModelKind
  /** Its class without the package, such as `ALSModel`. */
  readonly className: string
  /** A path or an `hdfs://` URL. */
  readonly place: string
  /** The parameters of the model that are numbers, texts or switches; those that were set go before the defaults. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/**
 * The folder of a model of Spark's MLlib at a path or an `hdfs://` URL: what its metadata say. Throws FILE_NOT_FOUND for a
 * place that is no such folder, MALFORMED_DATA for one that is damaged, and UNSUPPORTED for a model of another class.
 */
export async function openSparkModel(place: string): Promise<SparkModelFolder> {
  const metadata = await jsonLineIn(place, 'metadata')
  const { class: full, paramMap, defaultParamMap } = metadata
  if (typeof full !== 'string') throw malformed(place, 'its metadata have no "class"')
  const name = full.startsWith(PACKAGE) ? full.slice(PACKAGE.length) : full
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined
  if (kind === undefined) throw unsupported(place, full)
  return {
    kind,
    className: name.slice(name.lastIndexOf('.') + 1),
    place,
    parameters: { ...fieldsOf(defaultParamMap), ...fieldsOf(paramMap) },
  }
}

/** The Parquet files of a folder of a model, such as `userFactors`. Throws MALFORMED_DATA where there is none. */
export async function sparkFiles(place: string, folder: string) {
  const files = await filesOf(place, folder)
  const tables = files.filter((file) => file.place.replace(/\?.*$/, '').endsWith('.parquet'))
  if (tables.length > 0) return tables
  throw malformed(place, `its folder "${folder}" has no Parquet file`)
}

/** An error for a folder that is not as Spark writes it. `problem`: what is wrong, as a sentence. */
export function malformed(place: string, problem: string): WeirError {
  return new WeirError(
    'MALFORMED_DATA',
    `${place} is not a complete model folder of Spark: ${problem}; save the model again`,
    { details: { path: place } },
  )
}

/** The fields of a value that is an object; of others none. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** The first line of the text files of a folder of a model, as JSON. Throws FILE_NOT_FOUND and MALFORMED_DATA. */
export async function jsonLineIn(
  place: string,
  folder: string,
): Promise<Readonly<Record<string, unknown>>> {
  let text = ''
  for (const file of await filesOf(place, folder)) {
    const decoder = new TextDecoder()
    for await (const piece of readStored(file.place)) {
      text += decoder.decode(piece, { stream: true })
      if (text.length > MOST_CHARACTERS) throw malformed(place, `its ${folder} are too long`)
    }
  }
  const line = text.split('\n').find((each) => each !== '')
  if (line !== undefined) return fieldsOf(parsed(place, folder, line))
  throw malformed(place, `its ${folder} are empty`)
}

function parsed(place: string, folder: string, line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw malformed(place, `its ${folder} are no JSON`)
  }
}

async function filesOf(place: string, folder: string) {
  try {
    return await filesAt(placeInFolder(place, folder))
  } catch (cause) {
    if (!isWeirError(cause) || cause.code !== 'FILE_NOT_FOUND') throw cause
    throw new WeirError(
      'FILE_NOT_FOUND',
      `${place} is no model folder of Spark: it has no folder "${folder}"; name the folder that model.save(...) wrote`,
      { cause, details: { path: place } },
    )
  }
}

function unsupported(place: string, full: string): WeirError {
  const stages = full.endsWith('.PipelineModel')
    ? `; name the folder of the model itself, below ${placeInFolder(place, 'stages')}`
    : ''
  return new WeirError(
    'UNSUPPORTED',
    `${place} has a ${full}, and only ALSModel, LinearSVCModel and LogisticRegressionModel are read${stages}`,
    { details: { path: place } },
  )
}
