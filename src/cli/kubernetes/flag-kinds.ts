import { type FlagKind, kindOf } from '../flag-kinds/flag-kind.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'

/** Longest name of a StatefulSet: Kubernetes adds the hash of a revision in a label of 63 characters. */
const LONGEST_NAME = 52

/** The name of an object, as a part of a name of DNS. */
export const objectName: FlagKind = named('NAME', LONGEST_NAME)

/** The name of a namespace. */
export const namespaceName: FlagKind = named('NAME', 63)

/** The name of a Secret or a claim: parts of a name of DNS. */
export const referredName: FlagKind = kindOf(
  {
    sort: 'text',
    shown: 'NAME',
    takes: 'a name of at most 253 lower-case letters, digits, "-" and "."',
  },
  (text) => text.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text),
)

function named(shown: string, longest: number): FlagKind {
  const takes = `a name of at most ${longest} lower-case letters, digits and "-", from a letter on`
  return kindOf(
    { sort: 'text', shown, takes },
    (text) => text.length <= longest && /^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(text),
  )
}

/** An image of a container. */
export const imageName: FlagKind = kindOf(
  {
    sort: 'text',
    shown: 'IMAGE',
    takes: 'an image such as registry.example.com/counts:1.4 or one with @sha256:...',
  },
  (text) => /^[a-z0-9][A-Za-z0-9._/:-]*(@sha256:[0-9a-f]{64})?$/.test(text),
)

/** The module of a job in the image. */
export const moduleInImage: FlagKind = kindOf(
  {
    sort: 'path',
    shown: 'JOB',
    takes:
      'the file of a job in the image, such as src/counts-job.ts; named jobs run in one process',
  },
  (text) => /\.[cm]?[jt]s$/.test(text) && !/[\s\p{Cc}]/u.test(text),
)

/** A folder of the image. */
export const folderInImage: FlagKind = kindOf(
  { sort: 'path', shown: 'DIR', takes: 'an absolute path in the image, such as /app' },
  (text) => /^\/[^\s:\p{Cc}]*$/u.test(text),
)

/** A port in a pod; it has an address of its own, so this is not the port of a machine. */
export const portOfPod: FlagKind = wholeNumber({ min: 1, max: 65_535 }, 'PORT')

/** Processors of a pod. */
export const cpus: FlagKind = kindOf(
  { sort: 'number', shown: 'N', takes: 'a number of processors such as 2, 0.5 or 500m, above 0' },
  (text) => /^(\d{1,5}(\.\d{1,3})?|\d{1,8}m)$/.test(text) && Number.parseFloat(text) > 0,
)

/** Bytes of a quantity by its unit. */
const UNITS: Readonly<Record<string, number>> = { Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 }

/** Memory or disk of a pod, in the units of Kubernetes. */
export const bytesOfPod: FlagKind = kindOf(
  { sort: 'bytes', shown: 'SIZE', takes: 'a size such as 4Gi, in Mi, Gi or Ti' },
  (text) => quantityBytes(text) > 0,
)

/** Bytes of such a size; NaN for another text. */
export function quantityBytes(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,7})(Mi|Gi|Ti)$/.exec(text) ?? []
  return digits === undefined ? Number.NaN : Number(digits) * UNITS[unit]!
}
