export type { RateOptions } from './http/ratelimit.js'
export type { RequestInfo } from './http/request.js'
export type { RequestLine } from './http/requestlog.js'
export type { RequestHook } from './http/server.js'
export type { Webhook, WebhookOptions } from './http/webhooks.js'
export {
  type Clock,
  type Micros,
  parseInstant,
  printInstant,
  systemClock,
  type TimestampStyle,
} from './instant.js'
export { type RunSandboxOptions, readScript, runSandbox } from './main.js'
export type { ApiRecord } from './records/json.js'
export type { Change, PutOptions, Store } from './records/store.js'
export { serviceTemplate, template } from './records/template.js'
export type { TenantOptions } from './records/tenant.js'
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.js'
export type { Fault, Motion, Rule, Transport, When } from './script/rules.js'
