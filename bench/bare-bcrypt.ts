// A process that does nothing but compare: the peer of the whole stack. On a message `{ hash, password, ms }` it compares for so
// long, as many at once as there are cores, and answers with how many a second that were.
import { availableParallelism } from 'node:os'
import { lowerPriority } from '@gatehouse/child-process/serve-jobs'
import { measureRate } from './measure-rate.ts'

// As what it stands beside: other programs on the machine leave both the same.
lowerPriority()
const { default: bcrypt } = await import('bcrypt')

process.on('message', ({ hash, password, ms }: { hash: string; password: string; ms: number }) => {
  const compare = async () => {
    if (!(await bcrypt.compare(password, hash))) throw new Error('the password must fit')
  }
  void measureRate({ lanes: availableParallelism(), ms, work: compare }).then((rate) => process.send!(rate))
})
process.on('disconnect', () => process.exit(0))
