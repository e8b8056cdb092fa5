/** Attached to a program by `node --import`: keeps its spans, and writes spans.json when it ends. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import * as api from '@opentelemetry/api'
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from '@opentelemetry/sdk-trace-base'

const storage = new AsyncLocalStorage()
api.context.setGlobalContextManager({
  active: () => storage.getStore() ?? api.ROOT_CONTEXT,
  with: (context, work, self, ...given) => storage.run(context, () => work.call(self, ...given)),
  bind: (_context, target) => target,
  enable() {
    return this
  },
  disable() {
    return this
  },
})
const exporter = new InMemorySpanExporter()
api.trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] }),
)
const told = (span) => {
  const { name, kind, attributes, status, parentSpanContext } = span
  const { spanId: id, traceId: trace } = span.spanContext()
  return { name, kind, attributes, status, id, trace, parent: parentSpanContext?.spanId }
}
if (isMainThread)
  process.on('exit', () => writeFileSync('spans.json', JSON.stringify(exporter.getFinishedSpans().map(told))))
