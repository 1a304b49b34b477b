import WebClient
