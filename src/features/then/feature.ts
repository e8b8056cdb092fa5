import type { Feature } from '../../shell/command.js'

/* Two features of one folder, because each has its own section of the configuration. */

export const following: Feature = {
  settings: async () => (await import('../../engine/config/thensection.js')).thenSection,
  afterWork: async (context, ended) => (await import('./following.js')).followWork(context, ended),
  whileListening: async (context) => (await import('./listening.js')).followRings(context),
}

export const followingEvery: Feature = {
  settings: async () => (await import('../../engine/config/thensection.js')).thenEverySection,
}
