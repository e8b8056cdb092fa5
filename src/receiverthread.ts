/* The thread in which events are received: features/listen/receiver.ts starts it. */
import { parentPort, workerData } from 'node:worker_threads'
import { receive } from './features/listen/receive.js'
import type { ReceiverCall } from './features/listen/threadmessages.js'

if (parentPort) await receive(workerData as ReceiverCall, parentPort)
