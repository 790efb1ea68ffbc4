import { startSmtpServer } from '@gatehouse/test-kit'
import { tell } from '../gateway/child.ts'

const { port } = await startSmtpServer()
tell({ port })
