import { type Flags, needs, type OptionSpec, UsageError } from '../command/command.ts'
import { textOfFile } from '../command/text-file.ts'
import { path } from '../flag-kinds/places.ts'

/** TLS of a connection as PEM text. Without an authority it trusts those of Node. */
export interface ClientTls {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** The flags `--PREFIX`, `--PREFIX-ca`, `--PREFIX-cert` and `--PREFIX-key` of a connection to `server`. */
export function clientTlsOptions(
  prefix: string,
  server: string,
): Readonly<Record<string, OptionSpec>> {
  return {
    [prefix]: {
      type: 'boolean',
      help: 'Encrypt; trust the certificate authorities of Node',
    },
    [`${prefix}-ca`]: {
      type: 'string',
      value: path(),
      help: `Encrypt; trust this certificate authority of ${server} (PEM)`,
    },
    [`${prefix}-cert`]: {
      type: 'string',
      needs: [needs(`${prefix}-key`)],
      value: path(),
      help: `Client certificate for ${server} (PEM)`,
    },
    [`${prefix}-key`]: {
      type: 'string',
      needs: [needs(`${prefix}-cert`)],
      value: path(),
      help: 'Private key of that certificate (PEM)',
    },
  }
}

/**
 * The TLS of `clientTlsOptions`; undefined without one of its flags. Throws UsageError for a certificate without
 * key, a key without certificate, and a file that cannot be read.
 */
export function clientTlsOf(flags: Flags, prefix: string): ClientTls | undefined {
  const files: Record<string, string> = {}
  for (const name of ['ca', 'cert', 'key']) {
    const flag = `${prefix}-${name}`
    const file = flags.optional(flag)
    if (file !== undefined) files[name] = textOfFile(`--${flag}`, file)
  }
  if ((files['cert'] === undefined) !== (files['key'] === undefined)) {
    throw new UsageError(`--${prefix}-cert needs --${prefix}-key, and the other way round`)
  }
  return Object.keys(files).length > 0 || flags.boolean(prefix) ? files : undefined
}
