import AjvCompiler from '@fastify/ajv-compiler'
import type { FastifyInstance } from 'fastify'

/** The OpenAPI document of the REST interface, as far as tests read it. */
export interface RestDocument {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly security?: unknown
  readonly paths: Readonly<Record<string, Readonly<Record<string, RestOperation>>>>
  readonly components: object
}

interface RestOperation {
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly requestBody?: { readonly required?: boolean }
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: object }>> }>
  >
}

type Answer = Awaited<ReturnType<FastifyInstance['inject']>>

/** Compares answers with the OpenAPI document of the application. */
export class DocumentedAnswers {
  readonly document: RestDocument
  private readonly validators = new Map<object, (value: unknown) => boolean>()
  private readonly compile = AjvCompiler()(
    {},
    {
      customOptions: {
        ...{ strict: false, coerceTypes: false, removeAdditional: false },
        // Each schema is compiled for one or two answers.
        ...{ validateSchema: false, code: { optimize: false } },
      },
    },
  )

  private constructor(document: RestDocument) {
    this.document = document
  }

  static async of(app: FastifyInstance): Promise<DocumentedAnswers> {
    return new DocumentedAnswers((await app.inject('/openapi.json')).json<RestDocument>())
  }

  /** How an answer differs from the document; undefined if it does not. */
  difference(method: string, url: string, answer: Answer): unknown {
    const [path = ''] = url.split('?')
    const found = this.operationOf(method.toLowerCase(), path)
    if (found === undefined) return `${method} ${path} is not in the document`
    const [type = ''] = String(answer.headers['content-type']).split(';')
    const schema = found.responses[answer.statusCode]?.content[type]?.schema
    if (schema === undefined) return `${path} has no answer ${answer.statusCode} of ${type}`
    const validate = this.validatorOf(schema)
    const value = type === 'application/json' ? answer.json<unknown>() : answer.body
    return validate(value) ? undefined : (validate as { readonly errors?: unknown }).errors
  }

  private operationOf(method: string, path: string): RestOperation | undefined {
    const parts = path.split('/')
    const candidates = Object.entries(this.document.paths).filter(([template, operations]) => {
      const wanted = template.split('/')
      return (
        operations[method] !== undefined &&
        wanted.length === parts.length &&
        wanted.every((part, i) => part.startsWith('{') || part === parts[i])
      )
    })
    // A name that is written out comes before a parameter at the same place.
    candidates.sort(([a], [b]) => a.split('{').length - b.split('{').length)
    return candidates[0]?.[1][method]
  }

  private validatorOf(schema: object): (value: unknown) => boolean {
    const known = this.validators.get(schema)
    if (known !== undefined) return known
    const { components } = this.document
    const validate = this.compile({ schema: { ...schema, components } } as never) as never
    this.validators.set(schema, validate)
    return validate
  }
}
