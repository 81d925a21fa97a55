import {
  type ImageTransform,
  type JsonTransform,
  type LabelsTransform,
  type TokenizerTransform,
  TRUNCATIONS,
  type Transforms,
} from '../port/transforms.ts'
import { defined, type Fields, type SettingReader } from './setting-reader.ts'

const IMAGE_KEYS = ['size', 'fit', 'layout', 'channels', 'scale', 'mean', 'std']
const TOKENIZER_KEYS = ['file', 'pair', 'ids', 'mask', 'types', 'max-length', 'truncate', 'padding']

/** Reads the part of `deployment.yaml` under `transforms`. Throws INVALID_ARGUMENT, UNKNOWN_OPTION. */
export function readTransforms(reader: SettingReader, value: unknown): Transforms {
  const fields = reader.map(value, 'transforms')
  reader.requireKeys(fields, ['inputs', 'outputs', 'json'], 'transforms.')
  const images: Record<string, ImageTransform> = {}
  const tokenizers: Record<string, TokenizerTransform> = {}
  const labels: Record<string, LabelsTransform> = {}
  const read = new TransformReader(reader)
  read.each(fields, 'inputs', {
    image: (name, of, key) => {
      images[name] = read.image(of, key)
    },
    tokenizer: (name, of, key) => {
      tokenizers[name] = read.tokenizer(of, key)
    },
  })
  read.each(fields, 'outputs', {
    labels: (name, of, key) => {
      labels[name] = read.labels(of, key)
    },
  })
  return defined<Transforms>({ images, tokenizers, labels, json: read.json(fields['json']) })
}

/** Reads the transform of one tensor. */
type ReadTransform = (name: string, value: unknown, key: string) => void

class TransformReader {
  private readonly reader: SettingReader

  constructor(reader: SettingReader) {
    this.reader = reader
  }

  /** The transform of each tensor of a side, by its kind. */
  each(
    fields: Fields,
    side: 'inputs' | 'outputs',
    kinds: Readonly<Record<string, ReadTransform>>,
  ): void {
    const { reader } = this
    const known = Object.keys(kinds)
    for (const [name, value] of Object.entries(
      reader.map(fields[side] ?? {}, `transforms.${side}`),
    )) {
      const key = `transforms.${side}.${name}`
      const transform = reader.map(value, key)
      reader.requireKeys(transform, known, `${key}.`)
      const [kind, ...others] = Object.keys(transform)
      if (kind === undefined || others.length > 0) {
        throw reader.wrong(key, `one of ${known.join(', ')}`, value)
      }
      kinds[kind]!(name, transform[kind], `${key}.${kind}`)
    }
  }

  tokenizer(value: unknown, key: string): TokenizerTransform {
    const { reader } = this
    const fields = typeof value === 'string' ? { file: value } : reader.map(value, key)
    reader.requireKeys(fields, TOKENIZER_KEYS, `${key}.`)
    return defined<TokenizerTransform>({
      file: this.file(fields, key, 'tokenizer.json'),
      pair: reader.text(fields, 'pair'),
      ids: reader.text(fields, 'ids'),
      mask: reader.text(fields, 'mask'),
      types: reader.text(fields, 'types'),
      maxLength: reader.whole(fields, 'max-length'),
      truncate: this.truncate(fields['truncate'], key),
      padding: this.padding(fields['padding'], key),
    })
  }

  json(value: unknown): JsonTransform | undefined {
    const { reader } = this
    if (value === undefined || value === false) return undefined
    if (value === true) return { columns: {} }
    const fields = reader.map(value, 'transforms.json')
    reader.requireKeys(fields, ['columns'], 'transforms.json.')
    const columns = reader.map(fields['columns'] ?? {}, 'transforms.json.columns')
    for (const [name, names] of Object.entries(columns)) {
      const isRight =
        Array.isArray(names) && names.length > 0 && names.every((one) => typeof one === 'string')
      if (!isRight) {
        throw reader.wrong(`transforms.json.columns.${name}`, 'a list of the fields', names)
      }
    }
    return { columns: columns as JsonTransform['columns'] }
  }

  private truncate(value: unknown, key: string): TokenizerTransform['truncate'] | undefined {
    if (value === undefined || typeof value === 'boolean') return value
    const known = TRUNCATIONS.find((one) => one === value)
    if (known !== undefined) return known
    throw this.reader.wrong(`${key}.truncate`, `true, false, ${TRUNCATIONS.join(', ')}`, value)
  }

  private padding(value: unknown, key: string): TokenizerTransform['padding'] | undefined {
    const isWhole = Number.isInteger(value) && (value as number) >= 1
    if (value === undefined || value === 'longest' || isWhole) return value as 'longest' | number
    throw this.reader.wrong(`${key}.padding`, 'longest, or a whole number from 1', value)
  }

  private file(fields: Fields, key: string, example: string): string {
    const file = fields['file']
    if (typeof file === 'string' && /^[^/\\.][^/\\]*(\/[^/\\.][^/\\]*)*$/.test(file)) return file
    throw this.reader.wrong(`${key}.file`, `a file of the version, such as ${example}`, file)
  }

  image(value: unknown, key: string): ImageTransform {
    const { reader } = this
    const fields = value === null ? {} : reader.map(value, key)
    reader.requireKeys(fields, IMAGE_KEYS, `${key}.`)
    const one = <T extends string>(name: string, known: readonly T[]): T | undefined => {
      const found = known.find((word) => word === fields[name])
      if (found !== undefined || fields[name] === undefined) return found
      throw reader.wrong(`${key}.${name}`, known.join(' or '), fields[name])
    }
    const numbers = (name: string, count: number): readonly number[] | undefined => {
      const list = typeof fields[name] === 'number' ? Array(count).fill(fields[name]) : fields[name]
      if (list === undefined) return undefined
      const isRight = Array.isArray(list) && list.length === count && list.every(Number.isFinite)
      if (isRight) return list as readonly number[]
      throw reader.wrong(`${key}.${name}`, `a number, or ${count} numbers`, fields[name])
    }
    const size = numbers('size', 2)
    if (size?.some((pixels) => !(Number.isInteger(pixels) && pixels > 0)) === true)
      throw reader.wrong(`${key}.size`, 'pixels, or [width, height]', fields['size'])
    const scale = reader.number(fields, 'scale', { least: 0 })
    const transform = {
      size: size as ImageTransform['size'],
      fit: one('fit', ['cover', 'contain', 'fill'] as const),
      layout: one('layout', ['nchw', 'nhwc'] as const),
      channels: one('channels', ['rgb', 'bgr'] as const),
      scale,
      mean: numbers('mean', 3),
      std: numbers('std', 3),
    }
    return defined<ImageTransform>(transform)
  }

  labels(value: unknown, key: string): LabelsTransform {
    const { reader } = this
    const fields = typeof value === 'string' ? { file: value } : reader.map(value, key)
    reader.requireKeys(fields, ['file', 'top', 'softmax'], `${key}.`)
    const file = this.file(fields, key, 'labels.txt')
    const top = reader.whole(fields, 'top')
    return defined<LabelsTransform>({ file, top, softmax: reader.boolean(fields, 'softmax') })
  }
}
