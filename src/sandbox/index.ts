export type { RequestInfo } from './call.js'
export {
  type Clock,
  type Micros,
  parseInstant,
  printInstant,
  systemClock,
  type TimestampStyle,
} from './instant.js'
export type { RequestLine } from './journal.js'
export type { ApiRecord } from './json.js'
export { type RunSandboxOptions, readScript, runSandbox } from './main.js'
export type { RateOptions } from './rate.js'
export type { Fault, Motion, Rule, Transport, When } from './rule.js'
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.js'
export type { RequestHook } from './server.js'
export type { Change, PutOptions, Store } from './store.js'
export { serviceTemplate, template } from './template.js'
export type { TenantOptions } from './tenant.js'
export type { Webhook, WebhookOptions } from './webhook.js'
