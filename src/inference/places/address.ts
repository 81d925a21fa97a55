import { requireArgument, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'

/** A place that a model comes from, as a user writes it. */
export type PlaceAddress =
  | {
      readonly kind: 's3'
      readonly bucket: string
      /** Prefix of the keys, which ends with "/", or the key of one file. */
      readonly key: string
    }
  | {
      readonly kind: 'hf'
      /** `OWNER/NAME`. */
      readonly repository: string
      /** Branch, tag or commit. @default main */
      readonly revision: string | undefined
      /** Folder or file in the repository; empty for all of it. */
      readonly path: string
    }
  | {
      readonly kind: 'mlflow'
      readonly model: string
      readonly version: { readonly kind: 'number' | 'alias' | 'stage'; readonly text: string }
    }
  | {
      readonly kind: 'oci'
      /** `HOST` or `HOST:PORT`. */
      readonly registry: string
      readonly repository: string
      /** Tag, or digest with its algorithm. */
      readonly reference: string
    }

/** How each kind of place is written. */
const FORMS = {
  s3: 's3://BUCKET/FOLDER/ or s3://BUCKET/FILE.onnx',
  hf: 'hf://OWNER/NAME@REVISION, with a folder or a file behind it if need be',
  mlflow: 'mlflow:models:/NAME/VERSION, mlflow:models:/NAME/STAGE or mlflow:models:/NAME@ALIAS',
  oci: 'oci://HOST/NAME:TAG or oci://HOST/NAME@sha256:DIGEST',
} as const

type Scheme = keyof typeof FORMS

/**
 * The place that a text names; undefined where it is a path of this machine. Throws INVALID_ARGUMENT for a place that is
 * written in another way, UNSUPPORTED for another scheme.
 */
export function parsePlace(text: string): PlaceAddress | undefined {
  const [, scheme = '', rest = ''] = /^([A-Za-z][A-Za-z0-9+.-]+):(.*)$/s.exec(text) ?? []
  if (!Object.hasOwn(FORMS, scheme)) {
    if (rest.startsWith('//') && scheme !== 'file') throw unknownScheme(text, scheme)
    return undefined
  }
  const place = PARSERS[scheme as Scheme](rest)
  requireArgument(
    place !== undefined,
    `"${text.slice(0, 200)}" is no place; write ${FORMS[scheme as Scheme]}`,
  )
  return place
}

function unknownScheme(text: string, scheme: string): WeirError {
  const near = nearestWord(scheme.toLowerCase(), Object.keys(FORMS))
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  const forms = Object.values(FORMS).join('; ')
  return new WeirError(
    'UNSUPPORTED',
    `no model can be pushed from "${text.slice(0, 200)}"${hint}; push a file or folder of this machine, or ${forms}`,
  )
}

const PARSERS: Readonly<Record<Scheme, (rest: string) => PlaceAddress | undefined>> = {
  s3(rest) {
    const [, bucket, key = ''] =
      /^\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/s.exec(rest) ?? []
    return bucket === undefined || !isPath(key) ? undefined : { kind: 's3', bucket, key }
  },
  hf(rest) {
    const form = /^\/\/([\w.-]+)\/([\w.-]+)(?:@([^@/\s]+))?(?:\/(.*))?$/s
    const [, owner, name, revision, path = ''] = form.exec(rest) ?? []
    // These hold no models, and the name of their owner follows.
    if (owner === undefined || ['datasets', 'spaces', 'models'].includes(owner)) return undefined
    if (!isPath(path)) return undefined
    return {
      kind: 'hf',
      repository: `${owner}/${name}`,
      // A revision with "/", such as refs/pr/1, has it as %2F.
      revision: revision?.replaceAll(/%2f/gi, '/'),
      path: path.replace(/\/+$/, ''),
    }
  },
  mlflow(rest) {
    const [, model, mark, text] = /^models:\/([^/@:\s]+)([/@])([^/@\s]+)$/.exec(rest) ?? []
    if (model === undefined || text === undefined) return undefined
    const number = /^[1-9][0-9]*$/.test(text) ? 'number' : 'stage'
    return { kind: 'mlflow', model, version: { kind: mark === '@' ? 'alias' : number, text } }
  },
  oci(rest) {
    const form =
      /^\/\/([A-Za-z0-9.-]+(?::\d{1,5})?|\[[0-9A-Fa-f:]+\](?::\d{1,5})?)\/([a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(?::([\w][\w.-]{0,127})|@(sha256:[0-9a-f]{64}))$/
    const [, registry, repository, tag, digest] = form.exec(rest) ?? []
    if (registry === undefined || repository === undefined) return undefined
    return { kind: 'oci', registry, repository, reference: (tag ?? digest)! }
  },
}

/** Whether a text is a path from a folder down: no part of it leads upwards, and none is a name that no server has. */
export function isPath(text: string): boolean {
  if (/[\p{Cc}\\]/u.test(text) || text.startsWith('/')) return false
  return !text.split('/').some((part) => part === '..' || part === '.')
}
