import { expect, it } from 'vitest'
import { WITHOUT_REGISTRY } from '../../../src/gateway/models/without-registry.ts'
import { GatewayWorld } from '../world.ts'

/**
 * Every route that changes something or takes a body, by what a client can reach with it. A new route needs a line, and a
 * line that reaches more than its topic or its state a test of its bounds.
 */
const REACHES: Readonly<Record<string, string>> = {
  // `FolderRegistry`: data, and code or hosts as the start allows (test/inference/repository/register.test.ts).
  'POST /register': 'files of the model folder, with model control',
  // A name of a model that the process has (test/system/gateway/model-control.test.ts).
  'POST /v2/repository/models/{model}/load': 'a model of the folder, with model control',
  'POST /v2/repository/models/{model}/unload': 'a model of the folder, with model control',
  'POST /v2/repository/index': 'nothing',
  'POST /v2/models/{model}/infer': 'nothing',
  'POST /v2/models/{model}/versions/{version}/infer': 'nothing',
  'POST /v2/models/{model}/json': 'nothing',
  // Only what the selectors of that pipeline have learned (test/system/inference/pipelines.test.ts).
  'POST /v2/models/{model}/observe': 'the selectors of a pipeline',
  'POST /v2/models/{model}/generate': 'nothing',
  'POST /v2/models/{model}/versions/{version}/generate': 'nothing',
  'POST /v2/models/{model}/generate_stream': 'nothing',
  'POST /v2/models/{model}/versions/{version}/generate_stream': 'nothing',
  // A model of the folder, whose file names the server (test/system/inference/parts/openai.test.ts).
  'POST /v1/chat/completions': 'the server of a remote model of the folder',
  'POST /v1/completions': 'the server of a remote model of the folder',
  'POST /classify': 'nothing',
  'POST /v1/models/rollback': 'versions of the model of --model',
  'POST /v1/models/versions/{version}/promote': 'versions of the model of --model',
  'POST /v1/predict': 'nothing',
  'POST /v1/observe': 'the topic of observations',
  'POST /ingest': 'the topic of observations',
  'POST /pref/{user}/{item}': 'the topic of observations',
  'DELETE /pref/{user}/{item}': 'nothing',
}

it('each route of a gateway that changes something or takes a body says what it reaches', async () => {
  const app = await new GatewayWorld().open({ modelControl: {}, models: WITHOUT_REGISTRY })
  await app.ready()
  const { paths } = app.swagger() as unknown as { paths: Record<string, Record<string, object>> }
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== 'get')
      .map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(found.sort()).toEqual(Object.keys(REACHES).sort())
  await app.close()
})
