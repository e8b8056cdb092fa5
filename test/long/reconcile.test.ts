/** Law 6, extended to reconcile, as in test/features/reconcile/motion.test.ts, over more scenarios. */
import { reconcileMotion } from '../support/world/reconcilemotion.js'

reconcileMotion({ sqlite: 60, postgres: 20 })
