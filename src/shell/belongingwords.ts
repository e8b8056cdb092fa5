import { adoptionHint } from '../engine/warehouse/sourceidentity.js'

/** Shown for a warehouse whose source isn't the one that the configuration names. */
export const foreignAdvice = `The configuration names a different source, so runs are refused. ${adoptionHint}`
