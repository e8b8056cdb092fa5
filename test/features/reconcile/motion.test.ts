/** Law 6, extended to reconcile, over a few scenarios; `npm run test:long -- reconcile` plays many more. */
import { reconcileMotion } from '../../support/world/reconcilemotion.js'

reconcileMotion({ sqlite: 1, postgres: 1 })
