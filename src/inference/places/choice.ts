import { WeirError } from '../../core/errors.ts'
import { isPath } from './address.ts'
import type { PlaceFile } from './port.ts'

/** A file of a place that becomes a part of a version. */
export interface ChosenFile {
  readonly file: PlaceFile
  /** Path in the version's folder. */
  readonly to: string
}

/** Which files of a place become a version. */
export interface FileChoice {
  readonly model: ChosenFile
  /** Labels, vocabularies, cards and the like. */
  readonly companions: readonly ChosenFile[]
  /** Paths of what is left out: weights of other formats, other models, code, and what begins with a dot. */
  readonly leftOut: readonly string[]
}

/** What a user says of the files. */
export interface ChoiceSettings {
  /** Path of the model's file in the place. @default its only ONNX file */
  readonly file: string | undefined
  /** Whether a module, or a file that names another server, may be the model, and code may be taken. */
  readonly trustsCode: boolean
}

/** Weights that Weir does not run, with the program that does. */
const OTHER_WEIGHTS: Readonly<Record<string, string>> = {
  safetensors: 'PyTorch',
  bin: 'PyTorch',
  pt: 'PyTorch',
  pth: 'PyTorch',
  ckpt: 'PyTorch',
  h5: 'Keras',
  keras: 'Keras',
  msgpack: 'Flax',
  tflite: 'TensorFlow Lite',
  pb: 'TensorFlow',
  gguf: 'llama.cpp',
  ot: 'Rust',
  pkl: 'Python',
  pickle: 'Python',
  joblib: 'scikit-learn',
  mlmodel: 'Core ML',
  onnx_data: 'another ONNX file',
}
const CODE: ReadonlySet<string> = new Set([
  'js',
  'mjs',
  'cjs',
  'ts',
  'mts',
  'cts',
  'py',
  'sh',
  'so',
  'dll',
  'dylib',
  'node',
  'wasm',
  'ipynb',
])
const MODULES: ReadonlySet<string> = new Set(['js', 'mjs', 'ts'])
/** Most files of a version. */
const MOST_FILES = 1000

/**
 * Chooses the files of a version: the model, with the files of its folder beside it, and those of other folders under
 * their paths. Throws INVALID_ARGUMENT where a place has several models and none is named, or none; ACCESS_DENIED for
 * code that is not trusted; MALFORMED_DATA for a path that would leave the folder.
 */
export function chooseFiles(files: readonly PlaceFile[], settings: ChoiceSettings): FileChoice {
  const wrong = files.find(({ path }) => path === '' || !isPath(path))
  if (wrong !== undefined) {
    const message = `the place has a file with the path ${JSON.stringify(wrong.path.slice(0, 100))}, which leads out of a folder; nothing was taken`
    throw new WeirError('MALFORMED_DATA', message)
  }
  const model = settings.file === undefined ? onlyModel(files) : namedModel(files, settings)
  const folder = model.path.slice(0, model.path.lastIndexOf('/') + 1)
  const takes = (path: string): boolean => isCompanion(path, settings.trustsCode)
  const taken = files.filter((file) => file !== model && takes(file.path))
  const companions = placed(taken, folder)
  const kept = new Set([model, ...companions.map(({ file }) => file)])
  if (kept.size > MOST_FILES) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the place has more than ${MOST_FILES} files; name a folder of it`,
    )
  }
  const leftOut = files.filter((file) => !kept.has(file)).map(({ path }) => path)
  return { model: { file: model, to: modelName(model.path) }, companions, leftOut }
}

/**
 * The files with weights that an ONNX file names, as paths from its folder. Throws FILE_NOT_FOUND where the place does
 * not have one.
 */
export function weightFiles(
  files: readonly PlaceFile[],
  model: PlaceFile,
  named: ReadonlySet<string>,
): ChosenFile[] {
  const folder = model.path.slice(0, model.path.lastIndexOf('/') + 1)
  return [...named].map((to) => {
    const file = files.find(({ path }) => isPath(to) && path === folder + to)
    if (file !== undefined) return { file, to }
    const message = `the weights of ${model.path} are in ${JSON.stringify(to.slice(0, 100))}, which the place does not have there; push the folder that has both, and name the model with --file`
    throw new WeirError('FILE_NOT_FOUND', message)
  })
}

function onlyModel(files: readonly PlaceFile[]): PlaceFile {
  const models = files.filter(({ path }) => endingOf(path) === 'onnx' && !isHidden(path))
  if (models.length === 1) return models[0]!
  // A place that is one file names the model by itself.
  if (files.length === 1) return files[0]!
  const message =
    models.length === 0
      ? `the place has no ONNX file${others(files)}`
      : `the place has ${models.length} ONNX files; name one with --file: ${listed(models)}`
  throw new WeirError('INVALID_ARGUMENT', message)
}

function namedModel(files: readonly PlaceFile[], { file }: ChoiceSettings): PlaceFile {
  const model = files.find(({ path }) => path === file)
  if (model !== undefined) return model
  const models = files.filter(({ path }) => endingOf(path) === 'onnx')
  const hint = models.length === 0 ? '' : `; it has ${listed(models)}`
  throw new WeirError('FILE_NOT_FOUND', `the place has no file ${JSON.stringify(file)}${hint}`)
}

function others(files: readonly PlaceFile[]): string {
  const found = files.find(({ path }) => Object.hasOwn(OTHER_WEIGHTS, endingOf(path)))
  if (found === undefined) return '; name a module with --file and --trust-code, or another folder'
  const program = OTHER_WEIGHTS[endingOf(found.path)]
  return `, but ${found.path} for ${program}; export it to ONNX first, as the guide on models shows`
}

/** Throws ACCESS_DENIED, INVALID_ARGUMENT. */
export function requireTrusted(model: PlaceFile, trustsCode: boolean): void {
  const ending = endingOf(model.path)
  if (ending === 'onnx') return
  if (!MODULES.has(ending) && ending !== 'json') {
    const program = OTHER_WEIGHTS[ending]
    const what =
      program === undefined ? 'is no model' : `has weights for ${program}; export it to ONNX first`
    throw new WeirError('INVALID_ARGUMENT', `${model.path} ${what}`)
  }
  if (trustsCode) return
  const what =
    ending === 'json' ? 'makes the server call another one' : 'is code, which runs in the server'
  const message = `${model.path} ${what}; if you trust who wrote it, push it again with --trust-code`
  throw new WeirError('ACCESS_DENIED', message)
}

function modelName(path: string): string {
  return `model.${endingOf(path)}`
}

function isCompanion(path: string, trustsCode: boolean): boolean {
  const ending = endingOf(path)
  if (isHidden(path) || path.split('/').at(-1) === 'manifest.json') return false
  if (ending === 'onnx' || Object.hasOwn(OTHER_WEIGHTS, ending)) return false
  // A model of another kind would stand beside the chosen one.
  if (/(^|\/)model\.(ts|js|mjs|json)$/.test(path)) return false
  return trustsCode || !CODE.has(ending)
}

/** Files of the model's folder stand beside it; a file elsewhere that has the same path then is left out. */
function placed(files: readonly PlaceFile[], folder: string): ChosenFile[] {
  const beside = files.filter(({ path }) => path.startsWith(folder))
  const chosen = new Map(beside.map((file) => [file.path.slice(folder.length), file]))
  for (const file of files) {
    if (!file.path.startsWith(folder) && !chosen.has(file.path)) chosen.set(file.path, file)
  }
  return [...chosen].map(([to, file]) => ({ file, to }))
}

function isHidden(path: string): boolean {
  return path.split('/').some((part) => part.startsWith('.'))
}

function endingOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : ''
}

function listed(files: readonly PlaceFile[]): string {
  const shown = files.slice(0, 10).map(({ path }) => path)
  return files.length > 10 ? `${shown.join(', ')}, ...` : shown.join(', ')
}
