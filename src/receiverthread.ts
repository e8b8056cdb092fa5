/* The thread in which events are received: features/events/receiver.ts starts it. */
import { parentPort, workerData } from 'node:worker_threads'
import { receive } from './features/events/receive.js'
import type { ReceiverCall } from './features/events/threadmessages.js'

if (parentPort) await receive(workerData as ReceiverCall, parentPort)
