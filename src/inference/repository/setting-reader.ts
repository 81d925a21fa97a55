import { WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { YamlFile } from './yaml-file.ts'

/** Values of a file by their key. */
export type Fields = Readonly<Record<string, unknown>>

/** Reads values of `deployment.yaml`; its errors have the file, the line and the key. */
export class SettingReader {
  private readonly path: string
  private readonly lineOf: YamlFile['lineOf']

  constructor(path: string, lineOf: YamlFile['lineOf']) {
    this.path = path
    this.lineOf = lineOf
  }

  /** Place of a key in errors. */
  place(key: string): string {
    const line = this.lineOf(key)
    return line === undefined ? this.path : `${this.path}:${line}`
  }

  /** Bytes such as `64 MiB`; undefined for none. Throws INVALID_ARGUMENT. */
  bytes(fields: Fields, key: string): number | undefined {
    const value = fields[key]
    if (value === undefined || value === 'off' || value === false) return undefined
    if (Number.isInteger(value) && (value as number) >= 0) return value as number
    const [, number, unit] =
      typeof value === 'string' ? (/^(\d+) ?(KiB|MiB|GiB)$/.exec(value) ?? []) : []
    if (number === undefined) throw this.wrong(key, 'off, or bytes such as 64 MiB', value)
    return Number(number) * 1024 ** (['KiB', 'MiB', 'GiB'].indexOf(unit!) + 1)
  }

  /** A whole number from 1. Throws INVALID_ARGUMENT. */
  whole(fields: Fields, key: string): number | undefined {
    const value = this.number(fields, key, { least: 1 })
    if (value === undefined || Number.isInteger(value)) return value
    throw this.wrong(key, 'a whole number from 1', value)
  }

  /** A number from `least`. Throws INVALID_ARGUMENT. */
  number(fields: Fields, key: string, { least }: { readonly least: number }): number | undefined {
    const value = fields[key]
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isFinite(value) && value >= least) return value
    throw this.wrong(key, `a number from ${least}`, value)
  }

  /** Throws INVALID_ARGUMENT. */
  boolean(fields: Fields, key: string): boolean | undefined {
    const value = fields[key]
    if (value === undefined || typeof value === 'boolean') return value
    throw this.wrong(key, 'true or false', value)
  }

  /** A text that is not empty. Throws INVALID_ARGUMENT. */
  text(fields: Fields, key: string): string | undefined {
    const value = fields[key]
    if (value === undefined || (typeof value === 'string' && value !== '')) return value
    throw this.wrong(key, 'a text', value)
  }

  /** Fields by name. `what` names the value in errors. Throws INVALID_ARGUMENT. */
  map(value: unknown, what: string): Fields {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Fields
    throw this.wrong(what, '"key: value" lines', value)
  }

  /** Throws UNKNOWN_OPTION for a key that is not known, with the nearest one. */
  requireKeys(fields: Fields, known: readonly string[], prefix: string): void {
    for (const key of Object.keys(fields)) {
      if (known.includes(key)) continue
      const nearest = nearestWord(key, known)
      const hint =
        nearest === undefined
          ? `known are ${known.join(', ')}`
          : `did you mean ${prefix}${nearest}?`
      const place = this.place(`${prefix}${key}`)
      throw new WeirError('UNKNOWN_OPTION', `${place}: ${prefix}${key} is unknown; ${hint}`)
    }
  }

  /** The error of a key that has another value than it takes. */
  wrong(key: string, wanted: string, value: unknown): WeirError {
    const shown = JSON.stringify(value)?.slice(0, 60)
    const message = `${this.place(key)}: ${key} takes ${wanted}, not ${shown}`
    return new WeirError('INVALID_ARGUMENT', message)
  }
}

/** The object without its undefined fields. */
export function defined<T>(fields: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as unknown as T
}
