/* Preloaded into a process, this makes it a process without onnxruntime-node. */
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    return next(specifier === 'onnxruntime-node' ? 'onnxruntime-node-absent' : specifier, context)
  },
})
