/** The upstream of the live benchmark: what a socket sends goes to all members of the space, but for that socket. */
import { connectUpstream } from '@gatehouse/upstream'

const upstream = await connectUpstream({ natsUrl: process.env.NATS_URL!, name: 'chat' })
upstream.onMessage(({ sessionId, message }) => {
  upstream.deliver({ space: '1' }, message, { except: { sessions: [sessionId] } })
})
process.send!('ready')
process.on('disconnect', () => process.exit(0))
