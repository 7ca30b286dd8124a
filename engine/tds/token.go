package tds

// The tokens of a reply ([MS-TDS] 2.2.4).
const (
	tokenReturnStatus  = 0x79
	tokenColMetadata   = 0x81
	tokenOrder         = 0xA9
	tokenError         = 0xAA
	tokenInfo          = 0xAB
	tokenReturnValue   = 0xAC
	tokenLoginAck      = 0xAD
	tokenFeatureExtAck = 0xAE
	tokenRow           = 0xD1
	tokenNBCRow        = 0xD2
	tokenEnvChange     = 0xE3
	tokenDone          = 0xFD
	tokenDoneProc      = 0xFE
	tokenDoneInProc    = 0xFF
)
