import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { asWeirError, requireArgument } from '../../core/errors.ts'
import type { ModelSource } from '../port/model.ts'
import type { FunctionModel, LoadedModel, RunnerOptions } from '../port/runner.ts'
import type { Tensor } from '../port/tensor.ts'
import { declaredSignature } from './item-axes.ts'

type FunctionSource = Extract<ModelSource, { kind: 'function' }>

/** Imports the module of a function model. Throws MODEL_FAILED, INVALID_ARGUMENT. */
export async function loadFunction(
  source: FunctionSource,
  options: RunnerOptions,
): Promise<LoadedModel> {
  const name = source.export ?? 'default'
  const exported = await importModule(source.module)
  const model = exported[name] as FunctionModel | undefined
  requireArgument(
    typeof model?.run === 'function' && Array.isArray(model.signature?.inputs),
    `${source.module}: the export "${name}" is no model; it needs \`signature\` and \`run\``,
  )
  try {
    await model.load?.(source.options)
  } catch (error) {
    throw asWeirError(error, 'MODEL_FAILED', `${source.module}: load`)
  }
  return {
    signature: options.signature ?? declaredSignature(model.signature, options),
    async run(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]> {
      try {
        return await model.run(inputs, items)
      } catch (error) {
        throw asWeirError(error, 'MODEL_FAILED')
      }
    },
    async close() {
      await model.close?.()
    },
  }
}

async function importModule(module: string): Promise<Record<string, unknown>> {
  const url = /^[a-z]{2,}:/.test(module)
    ? module
    : pathToFileURL(isAbsolute(module) ? module : resolve(module)).href
  try {
    return await import(url)
  } catch (error) {
    throw asWeirError(error, 'MODEL_FAILED', `the module ${module} cannot be loaded`)
  }
}
