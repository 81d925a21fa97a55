/** Keys of `deployment.yaml`, with what they take. */
export const SETTING_KEYS: Readonly<Record<string, string>> = {
  'slo-ms': 'Latency goal in ms: the deadline of requests that name none',
  batching:
    'Batching rule (slack, aimd, quantile, greedy, threshold, window, none), or a map with rule',
  workers:
    'Workers that may run the model; or shared: it has its turns in a thread that other models use, too (default: 1, and small models share where there are many)',
  device:
    'Where the workers of an ONNX model run: cpu, cuda:0, tensorrt:0, coreml, webgpu or dml:0, or a list that they are divided among (default: cpu)',
  fallback: 'cpu: a worker whose device cannot be used runs on the CPU (default: the load fails)',
  'provider-options':
    'A map of options of the execution provider of the device, as ONNX Runtime has them',
  threads: 'Threads of one run of an ONNX model (default: the cores, divided among the workers)',
  isolation: 'thread, or process: a native crash ends a child process only',
  batches:
    'true: rows are independent, so requests may share a run; false: each request runs alone (default: what the model shows)',
  'item-axes':
    'A map of tensor names to the axis of their items, or null (default: what the model shows)',
  'max-batch': 'Most items of a run (default: 64); a request with more is split, or refused',
  'queue-capacity': 'Most requests that wait or run',
  streams: 'Most answers in parts at a time, of a model that gives them (default: 64)',
  'input-bytes': 'Most bytes of the inputs of one request, such as 4 MiB',
  'output-bytes': 'Most bytes of the outputs of one request, such as 4 MiB',
  memory:
    'Memory of the model in one worker, such as 200 MiB (default: measured); it counts with --memory',
  'warm-up':
    'Runs of each worker before it serves, on the inputs of golden.json or on zeros (default: none)',
  'max-attempts': 'Attempts of a request whose worker was lost (default: 3)',
  'overtime-ms':
    'Shortest time after which a run counts as hung and its worker is replaced, in ms (default: 2000)',
  'overtime-factor': 'The same in expected times of the run (default: 10); the longer one counts',
  'recycle-after': 'Runs after which a worker is replaced, for models that leak (default: never)',
  'keep-loaded': 'true: with --memory the model never leaves it (default: false)',
  'memory-limit':
    'Most memory of the process of one worker (isolation: process), such as 1 GiB: a run that takes more is ended',
  hedge: 'A map with after-ms or quantile: when a second worker gets a request',
  transforms:
    'A map of inputs with image or tokenizer, of outputs with labels, and json: what happens before and after a run',
  sequence:
    'A map with state, ttl-ms and most: what the model carries from one request of a client to the next',
  default:
    'Outputs that answer a request that cannot be in time: a map of datatype, shape and data',
  version: 'Version that is live: latest, a number, or an alias such as @stable',
  cache: 'Bytes of the prediction cache, such as 64 MiB; off for none',
  'cache-warm-up':
    'Most cached requests that a new version answers before it goes live (default: none)',
  checks:
    'A map with signature (same or any), max-p99-ms and max-memory: what a version must keep to before it goes live',
}
