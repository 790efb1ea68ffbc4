export { hashSecret } from '@gatehouse/auth'
