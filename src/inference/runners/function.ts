import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { asWeirError, requireArgument } from '../../core/errors.ts'
import type { ModelSource } from '../port/model.ts'
import type { FunctionModel, LoadedModel, RunnerOptions } from '../port/runner.ts'
import type { Tensor } from '../port/tensor.ts'
import { declaredSignature, withItemAxes } from './item-axes.ts'
import { partsSignature, wholeAnswer } from './parts-signature.ts'

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
    isFunctionModel(model),
    `${source.module}: the export "${name}" is no model; it needs \`signature\`, and \`run\` or \`stream\``,
  )
  try {
    await model.load?.(source.options)
  } catch (error) {
    throw asWeirError(error, 'MODEL_FAILED', `${source.module}: load`)
  }
  if (model.stream !== undefined) return streamingModel(model, model.stream.bind(model), options)
  const run = model.run!.bind(model)
  return {
    signature: options.signature ?? declaredSignature(model.signature, options),
    async run(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]> {
      try {
        return await run(inputs, items)
      } catch (error) {
        throw asWeirError(error, 'MODEL_FAILED')
      }
    },
    async close() {
      await model.close?.()
    },
  }
}

function isFunctionModel(model: FunctionModel | undefined): model is FunctionModel {
  const answers = typeof model?.run === 'function' || typeof model?.stream === 'function'
  return answers && Array.isArray(model.signature?.inputs)
}

/** A module that answers in parts, with `run` too or without. */
function streamingModel(
  model: FunctionModel,
  parts: NonNullable<LoadedModel['parts']>,
  { signature, itemAxes }: RunnerOptions,
): LoadedModel {
  const given = withItemAxes(model.signature, itemAxes ?? {})
  return {
    signature: signature ?? partsSignature(given),
    parts,
    async run(inputs, items) {
      try {
        return model.run === undefined
          ? await wholeAnswer(parts, inputs)
          : await model.run(inputs, items)
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
