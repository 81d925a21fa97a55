import { WeirError } from '../errors.ts'
import type { TraceParent } from './context.ts'

/** Decides whether a request is traced: `parent` is the caller's span, `traceId` that of the new span. */
export type Sampler = (parent: TraceParent | undefined, traceId: string) => boolean

const always: Sampler = () => true
const never: Sampler = () => false

/** The same decision in every process: OpenTelemetry compares the last 8 bytes of the trace id. */
function ratio(share: number): Sampler {
  const bound = BigInt(Math.round(share * 2 ** 32)) << 32n
  return (_parent, traceId) => BigInt(`0x${traceId.slice(16)}`) < bound
}

/** Follows the caller's decision; `root` decides about requests without a caller's span. */
function byParent(root: Sampler): Sampler {
  return (parent, traceId) => (parent === undefined ? root(parent, traceId) : parent.isSampled)
}

/**
 * The sampler with a name of OpenTelemetry's `OTEL_TRACES_SAMPLER` and its argument
 * `OTEL_TRACES_SAMPLER_ARG`. Throws INVALID_ARGUMENT.
 */
export function samplerOf(name = 'parentbased_always_on', argument = ''): Sampler {
  switch (name) {
    case 'always_on':
      return always
    case 'always_off':
      return never
    case 'traceidratio':
      return ratio(shareOf(argument))
    case 'parentbased_always_on':
      return byParent(always)
    case 'parentbased_always_off':
      return byParent(never)
    case 'parentbased_traceidratio':
      return byParent(ratio(shareOf(argument)))
    default:
      throw new WeirError(
        'INVALID_ARGUMENT',
        `OTEL_TRACES_SAMPLER is ${name}; Weir has always_on, always_off, traceidratio and the three parentbased_ samplers of them`,
      )
  }
}

function shareOf(argument: string): number {
  const share = argument === '' ? 1 : Number(argument)
  if (share >= 0 && share <= 1) return share
  throw new WeirError(
    'INVALID_ARGUMENT',
    `OTEL_TRACES_SAMPLER_ARG is ${argument}; it must be a share from 0 to 1`,
  )
}
