import type { JobConfiguration } from './configuration.ts'
import type { ValueType } from './value-types.ts'

/** A configuration key: its values, its meaning, and the configuration with the value that its text gives. */
export interface Option extends Pick<ValueType<unknown>, 'kind' | 'range'> {
  readonly meaning: string
  readonly put: (configuration: JobConfiguration, text: string) => JobConfiguration
}

/** An option that is a field of the configuration itself. */
export function ofJob<F extends keyof JobConfiguration>(
  field: F,
  { kind, range, parse }: ValueType<JobConfiguration[F]>,
  meaning: string,
): Option {
  const put: Option['put'] = (job, text) => ({ ...job, [field]: parse(text) })
  return { kind, range, meaning, put }
}

type Section =
  | 'checkpoints'
  | 'network'
  | 'queryTls'
  | 'queryLimits'
  | 'rest'
  | 'restTls'
  | 'scaleOut'
type Fields<S extends Section> = NonNullable<JobConfiguration[S]>

/** Makes options that are fields of one section of the configuration. */
export function fieldsOf<S extends Section>(section: S) {
  return <F extends keyof Fields<S>>(
    field: F,
    { kind, range, parse }: ValueType<Fields<S>[F]>,
    meaning: string,
  ): Option => {
    const put: Option['put'] = (job, text) => {
      return { ...job, [section]: { ...job[section], [field]: parse(text) } }
    }
    return { kind, range, meaning, put }
  }
}
